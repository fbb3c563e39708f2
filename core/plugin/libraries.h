// The libraries that bundled plugins stand on: whether this process would find them, and in which version.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "plugin/search.h"

namespace dlhost::plugin {

// [{"name", "file", "found", "version"?, "for"}]
nlohmann::json describe_libraries(const Catalogue&);

} // namespace dlhost::plugin
