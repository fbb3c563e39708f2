// The templates of `dlhost new`: core/tools/new/*.in, compiled in.
#pragma once

#include <cstddef>
#include <string_view>

namespace dlhost::tools {

struct Template {
  std::string_view name; // "layer.cpp", "meson.build"
  std::string_view text; // with @NAME@ and other placeholders
};
extern const Template templates[];
extern const std::size_t template_count;

} // namespace dlhost::tools
