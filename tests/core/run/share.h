// The share of a test's trials to run: all, unless DLHOST_ONE_IN is set because each takes many times as long.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace dlhost::test {

inline std::uint64_t setting(const char* name, std::uint64_t usual) {
  const char* given = std::getenv(name);
  return given ? std::strtoull(given, nullptr, 10) : usual;
}

inline std::uint64_t one_in() { return setting("DLHOST_ONE_IN", 1); }

// The number of seeds for a test.
inline std::uint64_t seeds(std::uint64_t usual) { return (usual + one_in() - 1) / one_in(); }

// The lower bound of a count over the seeds, scaled down; at least the count must exceed 0.
template <class Count> Count share_of(Count usual) { return usual / static_cast<Count>(one_in()); }

// Selects one in DLHOST_ONE_IN of a test's combinations, so that every value of each factor is used.
class Chosen {
 public:
  bool next() { return seen_++ % one_in_ == 0; }

 private:
  std::uint64_t one_in_ = one_in(), seen_ = 0;
};

} // namespace dlhost::test
