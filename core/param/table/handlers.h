// Which consistency handler decides about a param: the job's, or one that the param has instead.
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
  std::vector<Handler> own = {}; // of each param, by its number; empty: all have the job's
  const Handler& of(std::size_t param) const { return own.empty() ? job : own[param]; }
};

} // namespace dlhost::param
