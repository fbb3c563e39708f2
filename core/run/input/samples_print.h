// Tells data sets apart without reading all of them: by the number of samples, and by a digest of a few samples spread
// over the source.
#pragma once

#include <cstdint>
#include <string>

#include "run/session/session.h"

namespace dlhost::run {

struct SamplesPrint {
  std::int64_t count = 0;
  std::string digest;
  std::string of_all; // the digest of all samples; empty: not computed
  // Compares `of_all` only if both have it.
  bool is_like(const SamplesPrint&) const;
};

enum class Reading : std::uint8_t { few, all };
Result<SamplesPrint> print_of(Session&, const Session::OpenSource&, Phase, Reading);

} // namespace dlhost::run
