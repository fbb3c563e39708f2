#include "body.h"

namespace {
int* volatile nothing = nullptr;
const int crash = *nothing = 1;
} // namespace

DLHOST_PLUGIN("1.0", Bad);
