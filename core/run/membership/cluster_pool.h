// Workers that are processes of all members of a run, on one machine or many. Used by the leader, whose process is the
// first worker.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "env/temporary_folder.h"
#include "run/coordinator/worker_pool.h"
#include "run/coordinator/worker_processes.h"
#include "run/membership/folder_address_book.h"
#include "run/membership/members.h"

namespace dlhost::run {

class ClusterPool final : public WorkerPool {
 public:
  // Makes the crew of each attempt. Owns: the members outlive the crew.
  static Maker maker(Members&);
  ~ClusterPool() override;

  AddressBook& address_book() override { return *address_book_; }
  Status start() override;
  // Leaves the run to the members that see its folder.
  Status bequeath(const std::string& run) override;
  std::vector<RunProcess> processes() override;
  Status look() override;
  Status part() override;
  std::string fate(std::uint32_t seat) override;

 private:
  ClusterPool(Members& members, Session& leader) : members_(members), leader_(leader) {}
  Status prepare();
  void end(std::uint32_t seat);

  Members& members_;
  Session& leader_;
  std::optional<env::TemporaryFolder> folder_;
  Assignment assignment_;
  std::uint32_t epoch_ = 0;              // epoch of the attempt's messages
  std::vector<std::string> hosts_;       // by seat
  std::optional<std::uint32_t> attempt_; // empty: not begun
  Takeover takeover_;
  std::optional<WorkerProcesses> processes_; // of this member, without this process
  std::optional<FolderAddressBook> address_book_;
  std::atomic<bool> over_{false};
  std::mutex guard_;
  Status relayed_;             // result of the relay
  std::unique_ptr<Task> task_; // runs the relay, then watches for membership changes
};

} // namespace dlhost::run
