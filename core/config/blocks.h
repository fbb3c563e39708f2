// Blocks: layers that are written once and used often (docs/jobs.md, docs/decisions/blocks.md).
//
//   [[block]]
//   name = "conv_bn"
//   params = ["maps"]
//   layer = [
//     { name = "conv", type = "convolution", maps = "$maps" },
//     { name = "bn", type = "batch_norm" },
//   ]
//   [[layer]]
//   name = "stem"
//   block = "conv_bn"                # becomes stem.conv and stem.bn
//   src = "data"
//   with = { maps = 64 }
//
// A step of load(): takes `layer` and `block` out of a document and returns the expanded layers.
#pragma once

#include <string_view>

#include "config/build.h"
#include "config/problems.h"

namespace dlhost::config {

Layers expand_blocks(Table& document, Problems&);

// Whether a [[layer]] that uses a block may have this key.
bool is_use_key(std::string_view key);

} // namespace dlhost::config
