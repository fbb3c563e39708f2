#include <dlhost/plugin.h>

#include "sample_norm.h"

namespace dlhost::plugins {

class RmsNorm final : public AxisNorm {
 public:
  static constexpr std::string_view name = "rms_norm";
  struct Options : AxisNormOptions {};
  static Schema schema() {
    return by_axis(
        SchemaOf<Options>("Normalisation by the root of the mean square: x / sqrt(mean(x^2) + epsilon) * scale."),
        "the mean is over", "mean square");
  }
  explicit RmsNorm(Options options) : AxisNorm(NormSpec::Kind::rms, options) {}
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::RmsNorm);
