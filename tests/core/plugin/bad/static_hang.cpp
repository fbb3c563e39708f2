#include "body.h"

#include <unistd.h>

namespace {
const int hang = [] {
  for (;;) pause();
  return 0;
}();
} // namespace

DLHOST_PLUGIN("1.0", Bad);
