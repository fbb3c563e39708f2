// A simulated world, where time is a number: processes, their tasks, and what the tasks wait for. One task runs at a
// time, until it waits; a draw from the seed chooses the next of those that are ready. When none is ready, time moves
// on to the next timer or event. So a whole run takes one thread and only its computing time, and the same seed gives
// the same run.
//
// A killed process ends at the next wait of each of its tasks: the wait throws Killed, and waits during unwinding
// return at once. Thread: one.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/host.h>
#include <dlhost/random.h>

#include "env/simulated/fiber.h"

namespace dlhost::env::simulated {

inline constexpr Nanoseconds for_ever = std::numeric_limits<Nanoseconds>::max();

// Thrown through the tasks of a killed process. Not a std::exception, so that no handler takes it for a failure.
struct Killed {};

struct Strand;

// The tasks that wait for the same thing.
using Line = std::vector<Strand*>;

class World {
 public:
  explicit World(std::uint64_t seed);
  // Kills all processes that still run.
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Starts a process on that machine; returns its number: 1, 2, and so on.
  int start(std::string name, std::function<void()> main, int machine = 0);
  // Any task may call it, one of the same process as well.
  void kill(int process);
  // False: no process was left.
  bool kill_all();
  bool runs(int process) const;
  // False as well: it was killed, and its tasks have not ended yet.
  bool lives(int process) const;
  // Runs `event` at that moment, outside of any task.
  void at(Nanoseconds moment, std::function<void()> event);
  // Runs `event` after so many turns of tasks, counted from now; a turn ends when its task waits. One event at a time.
  // Requires: turns > 0.
  void after_turns(std::uint64_t turns, std::function<void()> event) {
    turns_left_ = turns;
    then_ = std::move(event);
  }

  // Runs until all processes have ended. Errors: all tasks wait for each other, or the moment `until` has come; the
  // message says which task waits for what, and all processes are killed.
  Status run(Nanoseconds until);

  Nanoseconds now() const { return now_; }
  // A draw from the seed in [0, n).
  std::uint32_t below(std::uint32_t n) { return random_.below(n); }
  // A hash of all events and their times: equal for equal runs.
  std::uint64_t history() const { return history_; }
  // The events, as text for people.
  const std::vector<std::string>& told() const { return told_; }
  void tell(std::string what);

  // For the running task. `doing`: a literal that says what the task does, for the report of a deadlock.
  // False: the limit came before a call of wake().
  bool wait(Line& line, Nanoseconds limit, const char* doing);
  void sleep(Nanoseconds span, const char* doing);
  // Like sleep, but returns also if the process is killed meanwhile.
  void pause(Nanoseconds span, const char* doing);
  std::shared_ptr<Strand> start_task(std::string name, std::function<void()> body);
  // Returns also if the process is killed meanwhile.
  void join(const std::shared_ptr<Strand>&);
  void wake(Line& line);

  // The process of the running task; 0: none, as in an event or before run().
  int process() const;
  int machine() const;
  // False: the running task's process was killed, so its actions no longer reach others.
  bool lives() const;

 private:
  struct Process {
    std::string name;
    int machine = 0;
    bool killed = false;
    int tasks = 0; // tasks that have not ended
  };
  using Timers = std::multimap<Nanoseconds, Strand*>;
  friend struct Strand;

  Process& process_of(const Strand&);
  const Process& process_of(int number) const { return *processes_.at(static_cast<std::size_t>(number - 1)); }
  Strand& running();
  std::shared_ptr<Strand> add(int process, std::string name, std::function<void()> body);
  void suspend(Strand&, Line*, Nanoseconds limit, const char* doing);
  void make_ready(Strand&);
  bool move_on(Nanoseconds until);
  void run_one();
  void end(Strand&);
  Status stuck(const char* why) const;
  // False: the task is unwinding after a kill and must not wait.
  bool may_wait(Strand&);
  void note(std::uint64_t what);

  Nanoseconds now_ = 0;
  Random random_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::shared_ptr<Strand>> strands_; // not ended, in the order of their starts
  std::vector<Strand*> ready_;
  Timers timers_;
  std::uint64_t turns_left_ = 0; // until then_; 0: none
  std::function<void()> then_;
  std::multimap<Nanoseconds, std::function<void()>> events_;
  Strand* running_ = nullptr;
  std::uint64_t started_ = 0; // number of strands
  std::uint64_t history_;
  std::vector<std::string> told_;
};

} // namespace dlhost::env::simulated
