#include "env/process/processes.h"

#include <utility>

#include "env/file_lock.h"
#include "env/process/process.h"

namespace dlhost::env {
namespace {

class LockOfFile final : public Processes::Lock {
 public:
  explicit LockOfFile(FileLock lock) : lock_(std::move(lock)) {}
  Result<int> hand_over() override { return lock_.hand_over(); }

 private:
  FileLock lock_;
};

std::unique_ptr<Processes::Lock> boxed(FileLock lock) { return std::make_unique<LockOfFile>(std::move(lock)); }

} // namespace

int RealProcesses::own() { return own_process(); }
bool RealProcesses::runs(int process) { return env::runs(process); }
bool RealProcesses::kill(int process) { return env::kill(process); }

Result<std::unique_ptr<Processes::Lock>> RealProcesses::lock(const std::string& path) {
  DLHOST_ASSIGN(auto lock, FileLock::take(path));
  return lock ? boxed(*std::move(lock)) : nullptr;
}

Result<std::unique_ptr<Processes::Lock>> RealProcesses::adopt(int handed_over, const std::string& path) {
  DLHOST_ASSIGN(auto lock, FileLock::adopt(handed_over, path));
  return boxed(std::move(lock));
}

} // namespace dlhost::env
