// How much a test tries of what it would: all of it, unless DLHOST_ONE_IN says that each takes many times as long here.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace dlhost::test {

inline std::uint64_t setting(const char* name, std::uint64_t usual) {
  const char* given = std::getenv(name);
  return given ? std::strtoull(given, nullptr, 10) : usual;
}

inline std::uint64_t one_in() { return setting("DLHOST_ONE_IN", 1); }

// How many seeds a test has.
inline std::uint64_t seeds(std::uint64_t usual) { return (usual + one_in() - 1) / one_in(); }

// Of what is counted over them, the part that more than has to be there: more than none at least.
template <class Count> Count share_of(Count usual) { return usual / static_cast<Count>(one_in()); }

// Of combinations that a test goes through, those that it tries: each of what they are made of comes in its turn.
class Chosen {
 public:
  bool next() { return seen_++ % one_in_ == 0; }

 private:
  std::uint64_t one_in_ = one_in(), seen_ = 0;
};

} // namespace dlhost::test
