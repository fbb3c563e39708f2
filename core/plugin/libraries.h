// The libraries that bundled plugins link: whether this process finds them, and their versions.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "plugin/search.h"

namespace dlhost::plugin {

// [{"name", "file", "found", "version"?, "for"}]
nlohmann::json describe_libraries(const Catalogue&);

} // namespace dlhost::plugin
