// What tells one data set from another without reading all of it: how many samples a source has, and what a few of
// them are, spread over all.
#pragma once

#include <cstdint>
#include <string>

#include "run/session.h"

namespace dlhost::run {

struct SamplesPrint {
  std::int64_t count = 0;
  std::string digest;
  bool operator==(const SamplesPrint&) const = default;
};

Result<SamplesPrint> print_of(Session&, const Session::OpenSource&, Phase);

} // namespace dlhost::run
