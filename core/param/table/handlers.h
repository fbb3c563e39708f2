// The consistency handler of each param: the job's or the param's own.
#pragma once

#include <cstddef>
#include <vector>

#include <dlhost/consistency.h>

#include "plugin/activity.h"

namespace dlhost::param {

struct Handler {
  Consistency* consistency = nullptr;
  const plugin::Actor* actor = nullptr;
};

struct Handlers {
  Handler job;
  std::vector<Handler> own = {}; // by param number; empty: all params have the job's
  const Handler& of(std::size_t param) const { return own.empty() ? job : own[param]; }
};

} // namespace dlhost::param
