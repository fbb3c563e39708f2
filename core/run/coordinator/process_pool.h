// Workers that are processes of this machine: `dlhost worker FOLDER SEAT LEADER`, each with sources and plugins of its
// own.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "env/temporary_folder.h"
#include "run/coordinator/worker_pool.h"
#include "run/coordinator/worker_processes.h"
#include "run/membership/folder_address_book.h"
#include "run/worker/follower.h"

namespace dlhost::run {

class ProcessPool final : public WorkerPool {
 public:
  static Result<std::unique_ptr<WorkerPool>> make(Session& leader);
  ~ProcessPool() override;

  AddressBook& address_book() override { return *address_book_; }
  Status start() override;
  Status bequeath(const std::string& run) override;
  std::vector<RunProcess> processes() override;
  Status look() override { return processes_->look(); }
  Status part() override;
  std::string fate(std::uint32_t seat) override { return processes_->fate(seat); }

  // Where a run has lost its leader and may go on: that run's folder, and the worker as it was, unless it has ended.
  using Outlives = std::function<Status(const std::string& run, Follower*)>;
  // What such a process does; `leader` is the number of the one that started it.
  static Status work(Host&, plugin::Registry&, const config::Job&, const std::string& folder, std::uint32_t seat,
                     int leader, const Outlives&);

 private:
  explicit ProcessPool(Session& leader) : leader_(leader) {}

  Session& leader_;
  std::optional<env::TemporaryFolder> folder_;
  std::optional<FolderAddressBook> address_book_;
  std::optional<WorkerProcesses> processes_; // of seat 1 and on
};

} // namespace dlhost::run
