#include <dlhost/plugin.h>

#include "cuda.h"

DLHOST_PLUGIN("1.0", dlhost::plugins::cuda::Cuda);
