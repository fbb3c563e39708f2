// A task with its own stack that runs until it suspends itself: a simulated world's tasks. All fibers of a world run on
// one thread, one at a time.
//
// Each side keeps its own exceptions in flight, so that a fiber may suspend inside a catch block or while it unwinds.
// Each switch is reported to the address and thread sanitizers. A stack ends in a guard page.
#pragma once

#include <functional>
#include <memory>

namespace dlhost::env::simulated {

class Fiber {
 public:
  // Requires: `body` throws nothing.
  explicit Fiber(std::function<void()> body);
  // Requires: the fiber has ended, or was never resumed.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Call from outside. Returns when the fiber suspends itself or ends.
  void resume();
  // Call from inside. Returns when the fiber is resumed.
  void suspend();
  bool ended() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace dlhost::env::simulated
