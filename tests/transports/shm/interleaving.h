// Two tasks that take turns at every access to what they share, in every order: a small model checker. Each order is
// run from the start; the last choice that has an alternative is then made anew, until none is left.
#pragma once

#include <functional>
#include <vector>

namespace dlhost::test {

class Interleaving {
 public:
  static constexpr int parties = 2;
  static constexpr int nobody = -1;

  // `begin` makes a fresh world; then both bodies run. `dies` ends that party for good before its `after`-th access.
  struct Death {
    int party = nobody;
    int after = 0;
  };
  // Returns how many orders there were.
  static long explore(const std::function<void()>& begin, const std::function<void()>& first,
                      const std::function<void()>& second, const std::function<void()>& end, Death);

  // Called by a body before it touches what is shared.
  static void access();
  // Called by a body after it has changed what the other may wait for.
  static void changed();
  // Called by a body that found nothing to do: it goes on after the other has changed something, or never.
  static void wait();
};

} // namespace dlhost::test
