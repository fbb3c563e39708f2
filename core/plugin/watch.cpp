// The watchdogs of faults.h. They run in their own thread, so that code which hangs, or has blocked signals, cannot
// stop them.
#include "plugin/faults.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "env/process/failure_note.h"
#include "env/process/interrupt.h"
#include "env/process/process.h"
#include "env/process/watchdog.h"
#include "plugin/fault_text.h"

namespace dlhost::plugin {

namespace {

constexpr Nanoseconds one_second = 1'000'000'000;
constexpr Nanoseconds shortest_pause = 10'000'000;

struct Record {
  std::atomic<const Actor*> actor{nullptr};
  std::atomic<const char*> doing{nullptr};
  std::atomic<Nanoseconds> limit{0};
  std::atomic<unsigned> generation{0}; // odd: in use; each new deadline increases it
};
std::array<Record, 32> records;

// State of the watchdog's thread alone. For each deadline: when it was first seen. For each slot: the number of calls
// at the last look, and how long the same call lasts. After a stop of the whole process the time between looks counts
// as at most two pauses.
struct Deadlined {
  unsigned generation = 0;
  Nanoseconds since = 0;
};
struct Seen {
  std::uint64_t entered = 0;
  Nanoseconds lasts = 0;
};
std::array<Deadlined, records.size()> deadlined;
std::array<Seen, detail::slot_count> seen;
Nanoseconds looked = 0;

constexpr int looks_in_limit = 4;
std::atomic<Nanoseconds> progress_limit{call_limit};
std::atomic<Nanoseconds> progress_limit_when_asked{call_limit_when_asked};

// A standby may take over, as from a killed process.
[[noreturn]] void end_for_hanging(const Actor& actor, const char* phase, std::uint64_t step, Nanoseconds limit) {
  FaultLine line;
  put_plugin(line, actor);
  line << " hangs in ";
  put_place(line, actor, phase, step);
  line << ": not back after " << static_cast<std::uint64_t>(limit / 1'000'000) << " ms";
  if (env::interrupted()) line << ", and the process was asked to end";
  if (!*actor.path) put_loaded(line); // the candidates
  line.write();
  env::write_failure_note(line.text());
  FaultLine remedy;
  remedy
      << "remove it from the plugin folder or from the job, or find where it waits: gdb -p, then `thread apply all bt`";
  remedy.write();
  write_checkpoint(checkpoint_to_tell());
  env::end_now(fault_exit_code);
}

Nanoseconds limit_of_calls() {
  const Nanoseconds limit = progress_limit.load(), asked = progress_limit_when_asked.load();
  if (!env::interrupted() || asked == 0) return limit;
  return limit == 0 ? asked : std::min(limit, asked);
}

// Returns the time until the next look.
Nanoseconds look_at_calls(Nanoseconds now) {
  const Nanoseconds limit = limit_of_calls();
  const Nanoseconds pause = limit > 0 ? std::clamp(limit / looks_in_limit, shortest_pause, one_second) : one_second;
  const Nanoseconds passed = std::min(now - std::exchange(looked, now), 2 * pause);
  for (std::size_t i = 0; i < detail::slot_count; ++i) {
    const auto& slot = detail::activity_slots[i];
    const Doing doing = read_slot(slot);
    const auto entered = slot.entered.load(std::memory_order_relaxed);
    if (!doing.actor || entered != seen[i].entered)
      seen[i] = {entered, 0};
    else if ((seen[i].lasts += passed) >= limit && limit > 0)
      end_for_hanging(*doing.actor, doing.phase, doing.step, limit);
  }
  return pause;
}

Nanoseconds look_at_deadlines(Nanoseconds now) {
  Nanoseconds pause = one_second;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto& record = records[i];
    const unsigned generation = record.generation.load();
    const Actor* const actor = record.actor.load();
    if (generation % 2 == 0 || !actor) continue;
    if (deadlined[i].generation != generation) deadlined[i] = {generation, now};
    const Nanoseconds limit = record.limit.load(), left = deadlined[i].since + limit - now;
    const char* const doing = record.doing.load();
    if (left > 0)
      pause = std::min(pause, left);
    else if (record.generation.load() == generation)
      end_for_hanging(*actor, doing, no_step, limit);
  }
  return pause;
}

Nanoseconds look(Nanoseconds now) { return std::min(look_at_calls(now), look_at_deadlines(now)); }

void look_from_now_on() {
  env::start_watchdog(look);
  env::wake_watchdog();
}

} // namespace

Deadline::Deadline(const Actor* actor, const char* doing, Nanoseconds limit) : record_(records.size()) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    auto& record = records[i];
    unsigned generation = record.generation.load();
    if (generation % 2 != 0 || !record.generation.compare_exchange_strong(generation, generation + 1)) continue;
    record_ = i;
    record.doing.store(doing);
    record.limit.store(limit);
    record.actor.store(actor);
    look_from_now_on();
    return;
  }
}

Deadline::~Deadline() {
  if (record_ == records.size()) return;
  records[record_].actor.store(nullptr);
  records[record_].generation.fetch_add(1);
}

void watch_progress(Nanoseconds limit, Nanoseconds when_asked) {
  progress_limit = limit;
  progress_limit_when_asked = when_asked;
  look_from_now_on();
}

} // namespace dlhost::plugin
