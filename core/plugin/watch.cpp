// The watchdogs of faults.h. A timer's signal is what reaches a thread that hangs in foreign code, wherever that is.
#include "plugin/faults.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <optional>
#include <utility>

#include <csignal>
#include <ctime>
#include <unistd.h>

#include "plugin/fault_text.h"

namespace dlhost::plugin {

namespace {

struct Record {
  std::atomic<const Actor*> actor{nullptr};
  std::atomic<const char*> doing{nullptr};
  std::atomic<Nanoseconds> limit{0};
  std::atomic<unsigned> generation{0}; // odd: in use; tells a late signal of an older deadline from a new one's
};
std::array<Record, 32> records;

// What the last looks at each slot saw: how often it had been entered, and how many looks in a row found it inside the
// same call.
struct Seen {
  std::uint64_t entered = 0;
  int looks = 0;
};
std::array<Seen, detail::slot_count> seen;
constexpr int looks_in_limit = 4;
std::atomic<Nanoseconds> progress_limit{0};
std::atomic_flag looking = ATOMIC_FLAG_INIT;

constexpr int progress_tag = -1;

int watch_signal() { return SIGRTMAX - 3; }

[[noreturn]] void end_for_hanging(const Actor& actor, const char* phase, std::uint64_t step, Nanoseconds limit) {
  FaultLine line;
  put_plugin(line, actor);
  line << " hangs in ";
  put_place(line, actor, phase, step);
  line << ": not back after " << static_cast<std::uint64_t>(limit / 1'000'000) << " ms";
  line.write();
  FaultLine remedy;
  remedy
      << "remove it from the plugin folder or from the job, or look where it waits: gdb -p, then `thread apply all bt`";
  remedy.write();
  write_checkpoint(checkpoint_to_tell());
  _exit(hang_exit_code);
}

void look_for_hangs() {
  for (std::size_t i = 0; i < detail::slot_count; ++i) {
    const auto& slot = detail::activity_slots[i];
    const Doing doing = read_slot(slot);
    const auto entered = slot.entered.load(std::memory_order_relaxed);
    if (!doing.actor || entered != seen[i].entered)
      seen[i] = {entered, 0};
    else if (++seen[i].looks >= looks_in_limit)
      end_for_hanging(*doing.actor, doing.phase, doing.step, progress_limit.load());
  }
}

void on_timer(int, siginfo_t* info, void*) {
  const int error = errno;
  const int tag = info->si_value.sival_int;
  if (tag == progress_tag) {
    if (!looking.test_and_set()) {
      look_for_hangs();
      looking.clear();
    }
  } else {
    const auto& record = records[static_cast<unsigned>(tag) % records.size()];
    const Actor* actor = record.actor.load();
    if (actor && record.generation.load() == static_cast<unsigned>(tag) / records.size())
      end_for_hanging(*actor, record.doing.load(), no_step, record.limit.load());
  }
  errno = error;
}

void install_timer_handler() {
  struct sigaction action {};
  action.sa_sigaction = on_timer;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(watch_signal(), &action, nullptr);
}

timespec to_timespec(Nanoseconds time) { return {time / 1'000'000'000, time % 1'000'000'000}; }

// Nothing when the system gives no timer; then nothing is watched.
std::optional<timer_t> start_timer(int tag, Nanoseconds first, Nanoseconds period) {
  install_timer_handler();
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = watch_signal();
  event.sigev_value.sival_int = tag;
  timer_t timer{};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return std::nullopt;
  const itimerspec times{.it_interval = to_timespec(period), .it_value = to_timespec(first)};
  timer_settime(timer, 0, &times, nullptr);
  return timer;
}

} // namespace

Deadline::Deadline(const Actor* actor, const char* doing, Nanoseconds limit) : record_(records.size()) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    auto& record = records[i];
    unsigned generation = record.generation.load();
    const unsigned mine = (generation + 1) % (1U << 20);
    if (generation % 2 != 0 || !record.generation.compare_exchange_strong(generation, mine)) continue;
    record_ = i;
    record.doing.store(doing);
    record.limit.store(limit);
    record.actor.store(actor);
    timer_ = start_timer(static_cast<int>(mine * records.size() + i), limit, 0);
    return;
  }
}

Deadline::~Deadline() {
  if (timer_) timer_delete(*timer_);
  if (record_ == records.size()) return;
  records[record_].actor.store(nullptr);
  records[record_].generation.store((records[record_].generation.load() + 1) % (1U << 20));
}

void watch_progress(Nanoseconds limit) {
  static std::optional<timer_t> timer;
  if (timer) timer_delete(*std::exchange(timer, std::nullopt));
  progress_limit.store(limit);
  if (limit > 0) timer = start_timer(progress_tag, limit / looks_in_limit, limit / looks_in_limit);
}

} // namespace dlhost::plugin
