#include "interleaving.h"

#include <ucontext.h>

#include <array>
#include <memory>
#include <optional>

namespace dlhost::test {

namespace {

// Thrown through a party to end it.
struct Ended {};

// A party has a stack of its own, so that it can be left in the middle of any call.
struct Party {
  ucontext_t context{};
  const std::function<void()>* body = nullptr;
  bool finished = false;
  bool waits = false; // for a change by the other
  int accesses = 0;
};

// One run, along a path of choices.
class Run {
 public:
  Run(std::vector<int>& path, Interleaving::Death death) : path_(path), death_(death) {}

  void run(const std::function<void()>& first, const std::function<void()>& second);
  void access();
  void changed();
  void wait();

 private:
  static void enter();
  std::optional<int> choose();
  void pause();

  std::vector<int>& path_; // the party that went on, choice by choice
  std::size_t at_ = 0;
  Interleaving::Death death_;
  std::array<Party, Interleaving::parties> parties_;
  ucontext_t home_{};
  int self_ = Interleaving::nobody;
  bool ending_ = false; // the parties that are left have nothing to wait for
};

Run* running = nullptr;
std::array<std::array<char, 256 << 10>, Interleaving::parties> stacks;

// There is a choice if both can go on.
std::optional<int> Run::choose() {
  const auto able = [this](std::size_t i) { return !parties_[i].finished && !parties_[i].waits; };
  if (!able(0) && !able(1)) return {};
  if (!able(0)) return 1;
  if (!able(1)) return 0;
  if (at_ == path_.size()) path_.push_back(0);
  return path_[at_++];
}

void Run::enter() {
  Party& party = running->parties_[static_cast<std::size_t>(running->self_)];
  try {
    if (!running->ending_) (*party.body)();
  } catch (const Ended&) {
  }
  party.finished = true;
  swapcontext(&party.context, &running->home_);
}

void Run::pause() {
  swapcontext(&parties_[static_cast<std::size_t>(self_)].context, &home_);
  if (ending_) throw Ended();
}

void Run::access() {
  Party& party = parties_[static_cast<std::size_t>(self_)];
  if (death_.party == self_ && party.accesses == death_.after) throw Ended();
  ++party.accesses;
  pause();
}

void Run::changed() { parties_[static_cast<std::size_t>(1 - self_)].waits = false; }

void Run::wait() {
  parties_[static_cast<std::size_t>(self_)].waits = true;
  pause();
}

void Run::run(const std::function<void()>& first, const std::function<void()>& second) {
  running = this;
  const std::function<void()>* bodies[] = {&first, &second};
  for (std::size_t i = 0; i < parties_.size(); ++i) {
    Party& party = parties_[i];
    party.body = bodies[i];
    getcontext(&party.context);
    party.context.uc_stack.ss_sp = stacks[i].data();
    party.context.uc_stack.ss_size = stacks[i].size();
    makecontext(&party.context, &Run::enter, 0);
  }
  while (const auto next = choose()) {
    self_ = *next;
    swapcontext(&home_, &parties_[static_cast<std::size_t>(self_)].context);
  }
  ending_ = true;
  for (int i = 0; i < Interleaving::parties; ++i) {
    self_ = i;
    if (!parties_[static_cast<std::size_t>(i)].finished)
      swapcontext(&home_, &parties_[static_cast<std::size_t>(i)].context);
  }
  running = nullptr;
}

} // namespace

void Interleaving::access() { running->access(); }
void Interleaving::changed() { running->changed(); }
void Interleaving::wait() { running->wait(); }

long Interleaving::explore(const std::function<void()>& begin, const std::function<void()>& first,
                           const std::function<void()>& second, const std::function<void()>& end, Death death) {
  std::vector<int> path;
  long orders = 0;
  for (;;) {
    begin();
    auto run = std::make_unique<Run>(path, death);
    run->run(first, second);
    end();
    ++orders;
    while (!path.empty() && path.back() == parties - 1) path.pop_back();
    if (path.empty()) return orders;
    ++path.back();
  }
}

} // namespace dlhost::test
