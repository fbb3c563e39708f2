// A small model checker: two tasks take turns at every access to shared memory, in every order. Each order runs from
// the start. Then the last choice with an alternative is made anew, until no alternative is left.
#pragma once

#include <functional>
#include <vector>

namespace dlhost::test {

class Interleaving {
 public:
  static constexpr int parties = 2;
  static constexpr int nobody = -1;

  // Ends the party for good before its access number `after`, counted from 0.
  struct Death {
    int party = nobody;
    int after = 0;
  };
  // `begin` makes a fresh world, both bodies run, `end` follows. Returns the number of orders.
  static long explore(const std::function<void()>& begin, const std::function<void()>& first,
                      const std::function<void()>& second, const std::function<void()>& end, Death);

  // Called by a body before it touches shared memory.
  static void access();
  // Called by a body after a change that the other may wait for.
  static void changed();
  // Called by a body without work: it goes on after a change by the other, or never.
  static void wait();
};

} // namespace dlhost::test
