#include <dlhost/plugin.h>

#include "mixing.h"

namespace dlhost::plugins {

// Zhang et al. 2018.
class Mixup final : public Mixing {
 public:
  static constexpr std::string_view name = "mixup";
  struct Options : MixingOptions {};
  static Schema schema() {
    return mixing(SchemaOf<Options>("In training, a weighted sum of each sample and another one; and a target with the "
                                    "same weights of their classes. src = [data, labels]."));
  }
  explicit Mixup(Options options) : Mixing(options) {}

 protected:
  double mix(const Frame& f, std::int64_t, std::int64_t other, double share, Random&, float* x) const override {
    const auto own = static_cast<float>(share);
    for (std::int64_t element = 0; element < shape().past(1); ++element)
      x[element] = own * x[element] + (1 - own) * value(f, other, element);
    return share;
  }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Mixup);
