#include <cmath>

#include <dlhost/plugin.h>

#include "mixing.h"

namespace dlhost::plugins {

// Yun et al. 2019.
class Cutmix final : public Mixing {
 public:
  static constexpr std::string_view name = "cutmix";
  struct Options : MixingOptions {};
  static Schema schema() {
    return mixing(SchemaOf<Options>("In training, a picture with a box from another picture; and a target with each "
                                    "class's share of the area. src = [pictures, labels]."));
  }
  explicit Cutmix(Options options) : Mixing(options) {}

 protected:
  Status expect_data(const Setup& s) const override { return expect_rank(s, 0, 4, 4); }

  // The box may extend beyond the picture; only the part inside counts.
  double mix(const Frame& f, std::int64_t, std::int64_t other, double share, Random& random, float* x) const override {
    const std::int64_t channels = shape()[1], height = shape()[2], width = shape()[3];
    const double side = std::sqrt(1 - share);
    const auto [top, bottom] = cut(height, side, random);
    const auto [left, right] = cut(width, side, random);
    for (std::int64_t channel = 0; channel < channels; ++channel)
      for (std::int64_t row = top; row < bottom; ++row)
        for (std::int64_t column = left; column < right; ++column) {
          const std::int64_t element = (channel * height + row) * width + column;
          x[element] = value(f, other, element);
        }
    const double area = static_cast<double>((bottom - top) * (right - left));
    return 1 - area / static_cast<double>(height * width);
  }

 private:
  // The part inside of a stretch around a random middle.
  static std::pair<std::int64_t, std::int64_t> cut(std::int64_t length, double part, Random& random) {
    const auto stretch = static_cast<std::int64_t>(static_cast<double>(length) * part);
    const auto middle = static_cast<std::int64_t>(random.below(static_cast<std::uint32_t>(length)));
    return {std::max<std::int64_t>(middle - stretch / 2, 0), std::min(middle - stretch / 2 + stretch, length)};
  }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Cutmix);
