// Workers that are processes of this machine, `dlhost worker FOLDER SEAT LEADER`. Each has its own sources and plugins.
#pragma once

#include <optional>
#include <vector>

#include "env/temporary_folder.h"
#include "run/coordinator/worker_pool.h"
#include "run/coordinator/worker_process.h"
#include "run/coordinator/worker_processes.h"
#include "run/membership/folder_address_book.h"
#include "run/recovery/leadership.h"

namespace dlhost::run {

class ProcessPool final : public WorkerPool, private Replaceable {
 public:
  static Result<std::unique_ptr<WorkerPool>> make(Session& leader);
  // Takes over the workers of a lost leader, or of an earlier attempt of this process. Ends those of the first server
  // group: start() starts others.
  static Result<std::unique_ptr<WorkerPool>> adopt(Session& leader, const GoingOn&);
  ~ProcessPool() override;

  AddressBook& address_book() override { return *address_book_; }
  Status start() override;
  Status bequeath(const std::string& run) override;
  std::vector<RunProcess> processes() override;
  Replaceable* replaceable() override { return this; }
  Status look() override;
  bool others_go_on() const override { return number_ > 0; }
  std::string meeting() const override { return folder_ ? folder_->path() : meeting_; }
  void let_go() override;
  Status part() override;
  std::string fate(std::uint32_t seat) override { return processes_->fate(seat); }

  // As WorkerProcess::outlives; `dead`: the leader's process.
  using Outlives = std::function<Status(const std::string& run, int dead, Follower*)>;
  // The work of such a process. `leader`: the id of the process that started it. `joins`: the number of the group with
  // which it joins a running run (Admissions), 0: it begins with all others.
  static Status work(Host&, plugin::Registry&, const config::Job&, const std::string& folder, std::uint32_t seat,
                     int leader, std::uint32_t joins, const Outlives&);

 private:
  bool has_ended(std::uint32_t seat) override { return processes_->has_ended(seat); }
  Status restart(std::uint32_t seat, std::uint32_t number) override { return processes_->restart(seat, number); }
  explicit ProcessPool(Session& leader) : leader_(leader) {}
  void take_up(const std::string& folder, const Posting&);

  Session& leader_;
  std::optional<env::TemporaryFolder> folder_; // made by this pool
  std::optional<env::SharedFolder> used_;      // else, with its path
  std::string meeting_;
  std::uint32_t number_ = 0;      // of this process's group (Admissions); 0: all begin together
  std::uint32_t first_group_ = 0; // seats of the first server group, if others go on
  std::optional<FolderAddressBook> address_book_;
  std::optional<WorkerProcesses> processes_; // from seat 1
};

} // namespace dlhost::run
