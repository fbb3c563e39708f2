// The layers of a job, one by one: core's keys, the options of the plugin, sources and params. A part of build().
#pragma once

#include "config/build.h"

namespace dlhost::config {

std::vector<Layer> build_layers(const Layers&, SchemaSource&, Problems&);

} // namespace dlhost::config
