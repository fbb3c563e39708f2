// This machine's features for dlhost, and the use of each missing one, for `dlhost inspect host`. As JSON:
//
//   {"dlhost": {"epoch", "compiler"},
//    "cpu": {"model", "instruction_sets", "cores_usable", "cores", "numa_nodes"},
//    "memory": {"total_bytes", "available_bytes", "limit_bytes"?},
//    "shared_memory": {"path", "total_bytes", "free_bytes"},
//    "gpus": [{"name", "memory_bytes"}],
//    "fabrics": [{"name", "kind", "megabits_per_second"?}],
//    "libraries": [{"name", "file", "lies_in"?, "version"?, "found", "for"}],
//    "missing": [TEXT]}
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "plugin/search.h"

namespace dlhost::tools {

// The catalogue says where plugins find their libraries.
nlohmann::json describe_machine(const plugin::Catalogue&);

} // namespace dlhost::tools
