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

class ProcessPool final : public WorkerPool, private Replaceable {
 public:
  static Result<std::unique_ptr<WorkerPool>> make(Session& leader);
  ~ProcessPool() override;

  AddressBook& address_book() override { return *address_book_; }
  Status start() override;
  Status bequeath(const std::string& run) override;
  std::vector<RunProcess> processes() override;
  Replaceable* replaceable() override { return this; }
  Status look() override { return processes_->look(); }
  Status part() override;
  std::string fate(std::uint32_t seat) override { return processes_->fate(seat); }

  // Where a run has lost its leader and may go on: that run's folder, and the worker as it was, unless it has ended.
  using Outlives = std::function<Status(const std::string& run, Follower*)>;
  // What such a process does. `leader`: the number of the one that started it; `joins`: of the group that it joins a
  // run with that goes on, 0 where it begins with all.
  static Status work(Host&, plugin::Registry&, const config::Job&, const std::string& folder, std::uint32_t seat,
                     int leader, std::uint32_t joins, const Outlives&);

 private:
  bool has_ended(std::uint32_t seat) override { return processes_->has_ended(seat); }
  Status restart(std::uint32_t seat, std::uint32_t number) override { return processes_->restart(seat, number); }
  explicit ProcessPool(Session& leader) : leader_(leader) {}

  Session& leader_;
  std::optional<env::TemporaryFolder> folder_;
  std::optional<FolderAddressBook> address_book_;
  std::optional<WorkerProcesses> processes_; // of seat 1 and on
};

} // namespace dlhost::run
