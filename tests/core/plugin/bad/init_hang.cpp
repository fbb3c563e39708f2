#include "body.h"

#include <unistd.h>

namespace {
dlhost::Status init(dlhost::Host&) {
  for (;;) pause();
}
} // namespace

DLHOST_PLUGIN_WITH("1.0", init, nullptr, Bad);
