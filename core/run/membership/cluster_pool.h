// Workers that are processes of all the run's members, on one machine or on many; seen from the member that leads the
// run, which is the first worker itself.
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
  // Makes the crew of each attempt; the members outlive it.
  static Maker maker(Members&);
  ~ClusterPool() override;

  AddressBook& address_book() override { return *address_book_; }
  Status start() override;
  // To those of the other members who see that folder as well.
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
  std::uint32_t epoch_ = 0;              // that its messages are of
  std::vector<std::string> hosts_;       // of each seat
  std::optional<std::uint32_t> attempt_; // none: it has not begun
  Takeover takeover_;
  std::optional<WorkerProcesses> processes_; // of this member's own, but for this process
  std::optional<FolderAddressBook> address_book_;
  std::atomic<bool> over_{false};
  std::mutex guard_;
  Status relayed_;             // how that went
  std::unique_ptr<Task> task_; // relays, and then sees whether somebody comes or goes
};

} // namespace dlhost::run
