// Shifts the colours of a picture along their principal components, in training (Krizhevsky et al. 2012, section 4.1):
// each picture gets one draw for each component, and every pixel is moved by the same amount.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

#include <dlhost/plugin.h>

#include "pictures.h"

namespace dlhost::augment {
namespace {

class Colour : public Augmentation {
 public:
  static constexpr std::string_view name = "colour";
  struct Options {
    double deviation = 0.1;
    // The default: ImageNet's pixels, red, green and blue from 0 to 1.
    std::vector<double> values{0.2175, 0.0188, 0.0045};
    std::vector<double> vectors{-0.5675, 0.7192, 0.4009, -0.5808, -0.0045, -0.8140, -0.5836, -0.6948, 0.4203};
    double full = 255;
  };
  static Schema schema() {
    return SchemaOf<Options>("Shifts all pixels along the principal components of the colours, as AlexNet did in 2012.")
        .option("deviation", &Options::deviation, "of the draw that each component is multiplied by", at_least(0))
        .option("values", &Options::values, "the components' eigenvalues; default: those of ImageNet", at_least(0))
        .option("vectors", &Options::vectors,
                "their eigenvectors: for red, then green, then blue, the coefficient of each component")
        .option("full", &Options::full, "the value of full colour: 255 for bytes, 1 for pixels scaled to that",
                above(0));
  }
  explicit Colour(Options options) : options_(std::move(options)) {}

  Result<TensorDesc> setup(const TensorDesc& sample) override {
    DLHOST_ASSIGN(picture_, picture_of(sample));
    if (picture_.channels != 3)
      return Status::invalid("the picture has ", picture_.channels, " channels, but red, green and blue are wanted");
    if (options_.values.size() != 3 || options_.vectors.size() != 9)
      return Status::invalid("values has ", options_.values.size(), " and vectors ", options_.vectors.size(),
                             " numbers, but must have 3 and 9");
    return sample;
  }

  void apply(const std::byte* src, std::byte* dst, bool training, Random& random) const override {
    if (!training) {
      std::memcpy(dst, src, picture_.count() * picture_.element);
      return;
    }
    std::array<double, 3> draws;
    for (std::size_t component = 0; component < 3; ++component)
      draws[component] = options_.deviation * gaussian(random) * options_.values[component];
    for (std::size_t channel = 0; channel < 3; ++channel) {
      double shift = 0;
      for (std::size_t component = 0; component < 3; ++component)
        shift += options_.vectors[channel * 3 + component] * draws[component];
      move(src, dst, channel, shift * options_.full);
    }
  }

 private:
  static double gaussian(Random& random) {
    const double radius = std::sqrt(-2 * std::log(1 - static_cast<double>(random.uniform())));
    return radius * std::cos(2 * std::numbers::pi * static_cast<double>(random.uniform()));
  }

  void move(const std::byte* src, std::byte* dst, std::size_t channel, double shift) const {
    const std::size_t first = channel * picture_.plane();
    if (picture_.element == 1) {
      const auto* in = reinterpret_cast<const std::uint8_t*>(src) + first;
      auto* out = reinterpret_cast<std::uint8_t*>(dst) + first;
      const auto by = static_cast<int>(std::lround(std::clamp(shift, -255.0, 255.0)));
      for (std::size_t i = 0; i < picture_.plane(); ++i)
        out[i] = static_cast<std::uint8_t>(std::clamp(in[i] + by, 0, 255));
    } else {
      const auto* in = reinterpret_cast<const float*>(src) + first;
      auto* out = reinterpret_cast<float*>(dst) + first;
      for (std::size_t i = 0; i < picture_.plane(); ++i) out[i] = in[i] + static_cast<float>(shift);
    }
  }

  Options options_;
  Picture picture_;
};

} // namespace
} // namespace dlhost::augment

DLHOST_PLUGIN("1.0", dlhost::augment::Colour);
