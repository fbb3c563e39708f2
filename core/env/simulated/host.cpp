#include "env/simulated/host.h"

#include <dlhost/parts.h>

namespace dlhost::env::simulated {
namespace {

// The longest simulated time of one look at a condition: a task that polls lets time pass.
constexpr std::uint32_t longest_look = 2'000;
constexpr double begin_of_all = 1795219200; // 2026-11-21, in UNIX time

class SimulatedTask final : public Task {
 public:
  SimulatedTask(World& world, std::shared_ptr<Strand> strand) : world_(world), strand_(std::move(strand)) {}
  ~SimulatedTask() override { SimulatedTask::join(); }
  void join() override {
    if (strand_) world_.join(strand_);
    strand_.reset();
  }

 private:
  World& world_;
  std::shared_ptr<Strand> strand_;
};

class SimulatedWaiter final : public Waiter {
 public:
  explicit SimulatedWaiter(World& world) : world_(world) {}
  std::uint64_t ticket() override { return notified_; }

  bool wait(std::uint64_t ticket, Nanoseconds limit) override {
    if (limit <= 0) world_.sleep(1 + world_.below(longest_look), "looks whether it is notified");
    const Nanoseconds end = limit < for_ever - world_.now() ? world_.now() + limit : for_ever;
    while (notified_ == ticket && world_.now() < end)
      if (!world_.wait(line_, end == for_ever ? for_ever : end - world_.now(), "waits to be notified")) break;
    return notified_ != ticket;
  }

  void notify_all() override {
    ++notified_;
    world_.wake(line_);
  }

 private:
  World& world_;
  Line line_;
  std::uint64_t notified_ = 0;
};

} // namespace

double SimulatedClock::wall_seconds() { return begin_of_all + static_cast<double>(world_.now()) * 1e-9; }

std::unique_ptr<Task> SimulatedTasks::start(std::string name, std::function<void()> body) {
  return std::make_unique<SimulatedTask>(world_, world_.start_task(std::move(name), std::move(body)));
}

std::unique_ptr<Waiter> SimulatedTasks::waiter() { return std::make_unique<SimulatedWaiter>(world_); }

void SimulatedLog::write(LogLevel level, std::string_view text) {
  if (shows(level) && world_.lives()) world_.tell(concat("process ", world_.process(), " says: ", text));
}

Result<std::unique_ptr<Plugin>> SimulatedHost::make(Kind kind, const Part& part) {
  if (!maker_) return Status::internal("no plugins can be made yet: ", name_of(kind), " '", part.type, "'");
  return maker_(kind, part);
}

} // namespace dlhost::env::simulated
