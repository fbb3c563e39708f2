#include "env/simulated/world.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include <fmt/format.h>

namespace dlhost::env::simulated {
namespace {

constexpr std::uint32_t scheduling_stream = 0x574F524C;
// Longer waits count as unlimited.
constexpr Nanoseconds longest = Nanoseconds{300} * 24 * 3600 * 1'000'000'000;
// A killed task that asks to wait so often would never end.
constexpr int most_refused = 1'000'000;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "simulation: a process that was killed does not end: %s\n", why.c_str());
  std::terminate();
}

} // namespace

struct Strand {
  Strand(std::uint64_t which, int of, std::string called, std::function<void()> body)
      : number(which), process(of), name(std::move(called)), fiber(std::move(body)) {}

  const std::uint64_t number;
  const int process;
  const std::string name;
  Fiber fiber;
  const char* doing = "begins"; // while it waits
  Line* line = nullptr;
  World::Timers::iterator timer;
  bool timed = false, ready = false, woken = false;
  int refused = 0; // refused waits since it was killed
  Line end;        // tasks that join this one
};

World::World(std::uint64_t seed) : random_({seed, scheduling_stream}, 0, 0), history_(0xCBF29CE484222325) {}

World::~World() {
  kill_all();
  run(for_ever).ignore("all have been killed");
}

World::Process& World::process_of(const Strand& strand) {
  return *processes_.at(static_cast<std::size_t>(strand.process - 1));
}

Strand& World::running() {
  if (!running_) throw std::logic_error("only a task of a simulated process can wait or start tasks");
  return *running_;
}

int World::process() const { return running_ ? running_->process : 0; }
int World::machine() const { return running_ ? process_of(running_->process).machine : 0; }
bool World::lives() const { return !running_ || !process_of(running_->process).killed; }
bool World::runs(int process) const { return process_of(process).tasks > 0; }
bool World::lives(int process) const { return runs(process) && !process_of(process).killed; }

// FNV-1a.
void World::note(std::uint64_t what) {
  for (int byte = 0; byte < 8; ++byte, what >>= 8) history_ = (history_ ^ (what & 0xFF)) * 0x100000001B3;
}

void World::tell(std::string what) {
  for (const char letter : what) note(static_cast<unsigned char>(letter));
  told_.push_back(fmt::format("{:12.6f} {}", static_cast<double>(now_) * 1e-9, what));
}

int World::start(std::string name, std::function<void()> main, int machine) {
  processes_.push_back(std::make_unique<Process>(Process{.name = name, .machine = machine}));
  const auto number = static_cast<int>(processes_.size());
  tell(fmt::format("process {} ({}) starts", number, name));
  add(number, std::move(name), std::move(main));
  return number;
}

std::shared_ptr<Strand> World::add(int process, std::string name, std::function<void()> body) {
  auto strand = std::make_shared<Strand>(++started_, process, std::move(name), [this, process, body = std::move(body)] {
    try {
      if (!process_of(process).killed) body();
    } catch (const Killed&) {
    }
  });
  ++process_of(*strand).tasks;
  strands_.push_back(strand);
  make_ready(*strand);
  return strand;
}

void World::kill(int number) {
  Process& process = *processes_.at(static_cast<std::size_t>(number - 1));
  if (process.killed || process.tasks == 0) return;
  process.killed = true;
  tell(fmt::format("process {} ({}) is killed", number, process.name));
  for (const auto& strand : strands_)
    if (strand->process == number && strand.get() != running_) make_ready(*strand);
}

bool World::kill_all() {
  const bool anyone = !strands_.empty();
  for (std::size_t i = 0; i < processes_.size(); ++i) kill(static_cast<int>(i + 1));
  return anyone;
}

void World::at(Nanoseconds moment, std::function<void()> event) {
  events_.emplace(std::max(moment, now_), std::move(event));
}

Status World::run(Nanoseconds until) {
  Status status;
  while (!strands_.empty()) {
    while (ready_.empty()) {
      if (move_on(until)) continue;
      const bool late = !timers_.empty() || !events_.empty();
      Status why = stuck(late ? "it takes too long" : "no task can ever continue");
      if (!status.ok()) give_up(why.message()); // the killed tasks wait for each other
      status = std::move(why);
      until = for_ever;
      kill_all();
    }
    run_one();
  }
  return status;
}

void World::run_one() {
  const auto chosen = ready_.begin() + below(static_cast<std::uint32_t>(ready_.size()));
  Strand& strand = **chosen;
  ready_.erase(chosen);
  strand.ready = false;
  note(static_cast<std::uint64_t>(now_));
  note(strand.number);
  running_ = &strand;
  strand.fiber.resume();
  running_ = nullptr;
  if (strand.fiber.ended()) end(strand);
  if (turns_left_ > 0 && --turns_left_ == 0) then_();
}

void World::end(Strand& strand) {
  wake(strand.end);
  Process& process = process_of(strand);
  if (--process.tasks == 0) tell(fmt::format("process {} ({}) has ended", strand.process, process.name));
  std::erase_if(strands_, [&](const auto& one) { return one.get() == &strand; });
}

// Moves time on to the next timer or event. False: there is none, or none before `until`.
bool World::move_on(Nanoseconds until) {
  Nanoseconds next = for_ever;
  if (!timers_.empty()) next = timers_.begin()->first;
  if (!events_.empty()) next = std::min(next, events_.begin()->first);
  if (next == for_ever || next > until) return false;
  now_ = next;
  while (!timers_.empty() && timers_.begin()->first == now_) make_ready(*timers_.begin()->second);
  while (!events_.empty() && events_.begin()->first == now_) {
    const auto event = std::move(events_.begin()->second);
    events_.erase(events_.begin());
    event();
  }
  return true;
}

void World::make_ready(Strand& strand) {
  if (strand.ready) return;
  strand.ready = true;
  if (strand.timed) timers_.erase(strand.timer);
  strand.timed = false;
  if (strand.line) std::erase(*strand.line, &strand);
  strand.line = nullptr;
  ready_.push_back(&strand);
}

void World::wake(Line& line) {
  while (!line.empty()) {
    Strand& first = *line.front();
    first.woken = true;
    make_ready(first);
  }
}

void World::suspend(Strand& strand, Line* line, Nanoseconds limit, const char* doing) {
  strand.doing = doing;
  strand.woken = false;
  strand.line = line;
  if (line) line->push_back(&strand);
  if (limit < longest) {
    strand.timed = true;
    strand.timer = timers_.emplace(now_ + std::max<Nanoseconds>(limit, 0), &strand);
  }
  strand.fiber.suspend();
}

bool World::may_wait(Strand& strand) {
  if (!process_of(strand).killed) return true;
  if (std::uncaught_exceptions() == 0) throw Killed();
  if (++strand.refused < most_refused) return false;
  give_up(concat("task '", strand.name, "' waits again and again in a destructor"));
}

bool World::wait(Line& line, Nanoseconds limit, const char* doing) {
  Strand& self = running();
  if (!may_wait(self)) return false;
  suspend(self, &line, limit, doing);
  const bool woken = self.woken;
  may_wait(self);
  return woken;
}

void World::sleep(Nanoseconds span, const char* doing) {
  Strand& self = running();
  if (!may_wait(self)) return;
  suspend(self, nullptr, span, doing);
  may_wait(self);
}

void World::pause(Nanoseconds span, const char* doing) {
  if (running_ && lives()) suspend(*running_, nullptr, span, doing);
}

std::shared_ptr<Strand> World::start_task(std::string name, std::function<void()> body) {
  Strand& self = running();
  if (!may_wait(self)) body = [] {};
  return add(self.process, std::move(name), std::move(body));
}

void World::join(const std::shared_ptr<Strand>& strand) {
  while (!strand->fiber.ended()) suspend(running(), &strand->end, for_ever, strand->name.c_str());
}

Status World::stuck(const char* why) const {
  std::string who;
  for (const auto& strand : strands_)
    who += fmt::format("; task '{}' of process {} ({}): {}", strand->name, strand->process,
                       process_of(strand->process).name, strand->doing);
  return Status::internal(why, " after ", fmt::format("{:.6f}", static_cast<double>(now_) * 1e-9), " simulated s", who);
}

} // namespace dlhost::env::simulated
