#include "body.h"

namespace {
dlhost::Status init(dlhost::Host&) { return dlhost::Status::unsupported("there is no such card"); }
} // namespace

DLHOST_PLUGIN_WITH("1.0", init, nullptr, Bad);
