// A task with a stack of its own that runs until it hands control back: what tasks are in a simulated world. All fibers
// of a world run on one thread, one at a time.
//
// Each side keeps its own exceptions in flight, so that a fiber may be left inside a catch block or while it unwinds.
// Address and thread sanitizers are told of each switch. A stack ends in a page that nobody may touch.
#pragma once

#include <functional>
#include <memory>

namespace dlhost::env::simulated {

class Fiber {
 public:
  // No exception may leave `body`.
  explicit Fiber(std::function<void()> body);
  // It has ended, or has never been resumed.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // From outside: until it suspends itself, or ends.
  void resume();
  // From inside: until it is resumed.
  void suspend();
  bool ended() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace dlhost::env::simulated
