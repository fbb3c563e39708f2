#include <csignal>

#include "body.h"

namespace {
const auto before = std::signal(SIGSEGV, [](int) {});
} // namespace

DLHOST_PLUGIN("1.0", Bad);
