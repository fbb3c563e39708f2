#include "body.h"

#include <stdexcept>

namespace {
const int thrown = []() -> int { throw std::runtime_error("thrown by a static object"); }();
} // namespace

DLHOST_PLUGIN("1.0", Bad);
