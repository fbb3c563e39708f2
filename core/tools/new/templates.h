// The files from which `dlhost new` makes a project; core/tools/new/*.in, compiled in.
#pragma once

#include <cstddef>
#include <string_view>

namespace dlhost::tools {

struct Template {
  std::string_view name; // "layer.cpp", "meson.build"
  std::string_view text; // @NAME@ and the like stand for what is asked for
};
extern const Template templates[];
extern const std::size_t template_count;

} // namespace dlhost::tools
