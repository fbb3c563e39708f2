// A world in which time is a number: simulated processes, their tasks, and what they wait for. One task runs at a time,
// until it waits; which of those that could go on is next, a draw from the seed says; and when none can, time moves on
// to the next moment at which one wants to. So a whole run is one thread of this process, takes as long as its
// computing does, and is the same again from the same seed.
//
// A process that is killed ends at the next wait of each of its tasks: a Killed flies through them, and what they do
// while they unwind waits for nobody. Used by one thread.
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

// Flies through the tasks of a process that was killed. No std::exception, so that nobody takes it for a failure.
struct Killed {};

// A task of a process.
struct Strand;

// Those who wait for the same thing.
using Line = std::vector<Strand*>;

class World {
 public:
  explicit World(std::uint64_t seed);
  // Kills what still runs.
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // A process of that machine, from now on; returns its number: 1, 2, and so on.
  int start(std::string name, std::function<void()> main, int machine = 0);
  // Whoever runs at this moment may kill, itself as well.
  void kill(int process);
  // False: nobody was left.
  bool kill_all();
  bool runs(int process) const;
  // At that moment, in nobody's task.
  void at(Nanoseconds moment, std::function<void()> event);

  // Until all processes have ended. Not ok: none can ever go on, or the moment `until` has come; it says who waited for
  // what, and all have been killed.
  Status run(Nanoseconds until);

  Nanoseconds now() const { return now_; }
  // A draw from the seed in [0, n).
  std::uint32_t below(std::uint32_t n) { return random_.below(n); }
  // A number made of all that happened and when: equal for equal runs.
  std::uint64_t history() const { return history_; }
  // What happened, in words for people.
  const std::vector<std::string>& told() const { return told_; }
  void tell(std::string what);

  // For the task that runs. `doing` is a literal: what it does, for when nobody can go on.
  // False: the limit came before somebody woke the line.
  bool wait(Line& line, Nanoseconds limit, const char* doing);
  void sleep(Nanoseconds span, const char* doing);
  // As sleep; comes back also when the process was killed meanwhile.
  void pause(Nanoseconds span, const char* doing);
  std::shared_ptr<Strand> start_task(std::string name, std::function<void()> body);
  // Comes back also when the process was killed meanwhile.
  void join(const std::shared_ptr<Strand>&);
  void wake(Line& line);

  // Who runs; 0: nobody, as in an event or before run().
  int process() const;
  int machine() const;
  // Whether what this one does still reaches others.
  bool lives() const;

 private:
  struct Process {
    std::string name;
    int machine = 0;
    bool killed = false;
    int tasks = 0; // that have not ended
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
  // False: it is being unwound and waits for nobody.
  bool may_wait(Strand&);
  void note(std::uint64_t what);

  Nanoseconds now_ = 0;
  Random random_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::shared_ptr<Strand>> strands_; // that have not ended, in the order of their starts
  std::vector<Strand*> ready_;
  Timers timers_;
  std::multimap<Nanoseconds, std::function<void()>> events_;
  Strand* running_ = nullptr;
  std::uint64_t started_ = 0; // strands
  std::uint64_t history_;
  std::vector<std::string> told_;
};

} // namespace dlhost::env::simulated
