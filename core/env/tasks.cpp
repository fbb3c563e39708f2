#include "env/tasks.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <pthread.h>

namespace dlhost::env {

namespace {

class ThreadTask : public Task {
 public:
  ThreadTask(std::string name, std::function<void()> body)
      : thread_([name = std::move(name), body = std::move(body)] {
          pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
          body();
        }) {}
  ~ThreadTask() override { ThreadTask::join(); }

  void join() override {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::thread thread_;
};

class ThreadWaiter : public Waiter {
 public:
  std::uint64_t ticket() override {
    const std::lock_guard lock(mutex_);
    return notified_;
  }

  bool wait(std::uint64_t ticket, Nanoseconds limit) override {
    // A year counts as unlimited; more would overflow the clock's sums.
    constexpr Nanoseconds longest = Nanoseconds{365} * 24 * 3600 * 1'000'000'000;
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::nanoseconds(std::min(limit, longest)),
                             [&] { return notified_ != ticket; });
  }

  void notify_all() override {
    {
      const std::lock_guard lock(mutex_);
      ++notified_;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t notified_ = 0;
};

} // namespace

std::unique_ptr<Task> ThreadTasks::start(std::string name, std::function<void()> body) {
  return std::make_unique<ThreadTask>(std::move(name), std::move(body));
}

std::unique_ptr<Waiter> ThreadTasks::waiter() { return std::make_unique<ThreadWaiter>(); }

} // namespace dlhost::env
