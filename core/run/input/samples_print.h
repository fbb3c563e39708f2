// What tells one data set from another without reading all of it: how many samples a source has, and what a few of
// them are, spread over all.
#pragma once

#include <cstdint>
#include <string>

#include "run/session/session.h"

namespace dlhost::run {

struct SamplesPrint {
  std::int64_t count = 0;
  std::string digest;
  std::string of_all; // the digest of all samples; empty: not computed
  // As far as both know.
  bool is_like(const SamplesPrint&) const;
};

enum class Reading : std::uint8_t { few, all };
Result<SamplesPrint> print_of(Session&, const Session::OpenSource&, Phase, Reading);

} // namespace dlhost::run
