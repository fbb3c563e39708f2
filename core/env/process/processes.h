// The processes of a machine and their locks, as one of them sees them: real ones, or those of a simulated world
// (env/simulated/processes.h). Thread: any.
#pragma once

#include <memory>
#include <string>

#include <dlhost/status.h>

namespace dlhost::env {

class Processes {
 public:
  // An exclusive lock on a file, until its process ends or the object is destroyed.
  class Lock {
   public:
    virtual ~Lock() = default;
    // Gives up the lock to the program that this process runs next, which calls adopt() with this number.
    virtual Result<int> hand_over() = 0;
  };

  virtual ~Processes() = default;
  // The number of this process.
  virtual int own() = 0;
  virtual bool runs(int process) = 0;
  // False: no such process, or no permission.
  virtual bool kill(int process) = 0;
  // Makes the file if it is missing. Null: another process holds the lock. Errors: Code::unsupported if the file system
  // has no locks.
  virtual Result<std::unique_ptr<Lock>> lock(const std::string& path) = 0;
  virtual Result<std::unique_ptr<Lock>> adopt(int handed_over, const std::string& path) = 0;
};

// Those of this machine.
class RealProcesses final : public Processes {
 public:
  int own() override;
  bool runs(int process) override;
  bool kill(int process) override;
  Result<std::unique_ptr<Lock>> lock(const std::string& path) override;
  Result<std::unique_ptr<Lock>> adopt(int handed_over, const std::string& path) override;
};

} // namespace dlhost::env
