// Builds the layers of a job: core's keys, the plugin's options, sources and params. A part of build().
#pragma once

#include "config/build.h"

namespace dlhost::config {

std::vector<Layer> build_layers(const Layers&, SchemaSource&, Problems&);

} // namespace dlhost::config
