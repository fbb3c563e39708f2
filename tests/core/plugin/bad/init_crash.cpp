#include "body.h"

#include <csignal>

namespace {
dlhost::Status init(dlhost::Host&) {
  std::raise(SIGFPE);
  return {};
}
} // namespace

DLHOST_PLUGIN_WITH("1.0", init, nullptr, Bad);
