#include <dlhost/plugin.h>

#include "sample_norm.h"

namespace dlhost::plugins {

class LayerNorm final : public AxisNorm {
 public:
  static constexpr std::string_view name = "layer_norm";
  struct Options : AxisNormOptions {};
  static Schema schema() {
    return by_axis(SchemaOf<Options>("Layer normalisation: each sample by its own mean and variance."),
                   "statistics are over", "variance");
  }
  explicit LayerNorm(Options options) : AxisNorm(NormSpec::Kind::layer, options) {}
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::LayerNorm);
