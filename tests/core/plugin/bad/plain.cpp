// Sound by itself: the faults come from build flags, or from bytes that a test changes.
#include "body.h"

DLHOST_PLUGIN("1.0", Bad);
