// Tasks as threads of the system, for real runs. Thread: any may start one; the Task's owner joins it.
#pragma once

#include <dlhost/host.h>

namespace dlhost::env {

class ThreadTasks : public Tasks {
 public:
  // Debuggers and `top -H` show the name: the system keeps its first 15 bytes.
  std::unique_ptr<Task> start(std::string name, std::function<void()> body) override;
  std::unique_ptr<Waiter> waiter() override;
};

} // namespace dlhost::env
