// Writes a value over a rectangle of random area, aspect and place, in training (Zhong et al. 2017, drawn like
// torchvision's RandomErasing).
#include <algorithm>
#include <cstring>
#include <limits>

#include <dlhost/plugin.h>

#include "ranges.h"

namespace dlhost::augment {
namespace {

class RandomErase : public Augmentation {
 public:
  static constexpr std::string_view name = "random_erase";
  struct Options {
    double probability = 0.5;
    std::vector<double> area{0.02, 0.33}, aspect{0.3, 3.3}, value{0};
  };
  static Schema schema() {
    return SchemaOf<Options>("Writes a value over a rectangle of the picture, in training.")
        .option("probability", &Options::probability, "the share of pictures that lose one", between(0, 1))
        .option("area", &Options::area, "[low, high] of the rectangle's share of the picture", between(0, 1))
        .option("aspect", &Options::aspect, "[low, high] of the rectangle's height over its width", above(0))
        .option("value", &Options::value, "the value to write: one number, or one for each channel");
  }
  explicit RandomErase(Options options) : options_(std::move(options)) {}

  Result<TensorDesc> setup(const TensorDesc& sample) override {
    DLHOST_ASSIGN(picture_, picture_of(sample));
    DLHOST_ASSIGN(area_, range_of("area", options_.area, 1));
    DLHOST_ASSIGN(aspect_, range_of("aspect", options_.aspect, std::numeric_limits<double>::infinity()));
    if (const auto count = options_.value.size(); count != 1 && count != static_cast<std::size_t>(picture_.channels))
      return Status::invalid("value has ", count, " numbers, but must have 1 or ", picture_.channels);
    for (const double value : options_.value)
      if (picture_.element == 1 && (value < 0 || value > 255))
        return Status::invalid("value is ", value, ", but the picture holds bytes, 0 to 255");
    return sample;
  }

  void apply(const std::byte* src, std::byte* dst, bool training, Random& random) const override {
    std::memcpy(dst, src, picture_.count() * picture_.element);
    if (!training || random.uniform() >= options_.probability) return;
    for (int attempt = 0; attempt < 10; ++attempt) {
      const auto [width, height] = draw_sides(picture_, area_, aspect_, random);
      if (height >= picture_.height || width >= picture_.width) continue;
      const std::int64_t top = random.below(static_cast<std::uint32_t>(picture_.height - height) + 1);
      return erase(dst, top, random.below(static_cast<std::uint32_t>(picture_.width - width) + 1), height, width);
    }
  }

 private:
  void erase(std::byte* picture, std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width) const {
    for (std::int64_t channel = 0; channel < picture_.channels; ++channel) {
      const double value = options_.value[options_.value.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
      for (std::int64_t row = top; row < top + height; ++row) {
        std::byte* line = picture + ((channel * picture_.height + row) * picture_.width + left) *
                                        static_cast<std::int64_t>(picture_.element);
        if (picture_.element == 1)
          std::memset(line, static_cast<int>(value), static_cast<std::size_t>(width));
        else
          std::fill_n(reinterpret_cast<float*>(line), width, static_cast<float>(value));
      }
    }
  }

  Options options_;
  Picture picture_;
  Range area_, aspect_;
};

} // namespace
} // namespace dlhost::augment

DLHOST_PLUGIN("1.0", dlhost::augment::RandomErase);
