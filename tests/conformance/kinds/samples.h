// The suites of layers that move samples instead of computing: sources bring them in, sinks take them away.
#pragma once

#include "layer/tests.h"

namespace dlhost::conform {

void add_source_case(const Context&, const LayerCase&);
void add_sink_case(const Context&, const LayerCase&);

} // namespace dlhost::conform
