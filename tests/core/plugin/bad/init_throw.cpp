#include "body.h"

#include <stdexcept>

namespace {
dlhost::Status init(dlhost::Host&) { throw std::runtime_error("no licence"); }
} // namespace

DLHOST_PLUGIN_WITH("1.0", init, nullptr, Bad);
