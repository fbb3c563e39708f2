// How far a run has come.
#pragma once

#include <cstdint>

namespace dlhost::run {

struct Progress {
  std::uint64_t step = 0;        // done
  std::uint64_t total_steps = 0; // 0: not known
  double epoch = 0;
  double seconds = 0; // of training, evaluations left out
  std::int64_t items = 0;
  double rate = 0;
};

} // namespace dlhost::run
