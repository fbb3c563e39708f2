#include <dlhost/plugin.h>

#include "cuda.h"

DLHOST_PLUGIN_WITH("1.0", dlhost::plugins::cuda::Cuda::begin, dlhost::plugins::cuda::Cuda::end,
                   dlhost::plugins::cuda::Cuda);
