// The sound core of every plugin of this corpus: the initializer "bad".
#pragma once

#include <algorithm>

#include <dlhost/parts.h>
#include <dlhost/plugin.h>

namespace {

class Bad : public dlhost::Initializer {
 public:
  static constexpr std::string_view name = "bad";
  struct Options {};
  static dlhost::Schema schema() { return dlhost::SchemaOf<Options>("Every element 1."); }
  explicit Bad(Options) {}
  dlhost::Status fill(std::span<float> values, const Target&, dlhost::Random&) const override {
    std::ranges::fill(values, 1.0F);
    return {};
  }
};

} // namespace
