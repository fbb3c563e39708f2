// Sound as it stands: what is wrong with it comes from the flags it is built with, or from bytes that a test changes.
#include "body.h"

DLHOST_PLUGIN("1.0", Bad);
