// The suites of layers that move samples: sources and sinks.
#pragma once

#include "layer/tests.h"

namespace dlhost::conform {

void add_source_case(const Context&, const LayerCase&);
void add_sink_case(const Context&, const LayerCase&);

} // namespace dlhost::conform
