#include "body.h"

namespace nowhere {
int function(int);
}

namespace {
dlhost::Status init(dlhost::Host&) {
  return nowhere::function(1) ? dlhost::Status() : dlhost::Status::internal("never reached");
}
} // namespace

DLHOST_PLUGIN_WITH("1.0", init, nullptr, Bad);
