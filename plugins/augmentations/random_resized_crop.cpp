// Cuts a piece of random area and aspect and resizes it to a fixed size (Szegedy et al. 2014, drawn like torchvision's
// RandomResizedCrop). Outside of training: the middle of the picture.
#include <limits>

#include <dlhost/plugin.h>

#include "ranges.h"
#include "resize.h"

namespace dlhost::augment {
namespace {

class RandomResizedCrop : public Augmentation {
 public:
  static constexpr std::string_view name = "random_resized_crop";
  struct Options {
    std::vector<std::int64_t> size;
    std::vector<double> area{0.08, 1}, aspect{3.0 / 4, 4.0 / 3};
    double middle = 0.875;
  };
  static Schema schema() {
    return SchemaOf<Options>("In training a piece of drawn area and aspect, else the middle, brought to a size.")
        .required("size", &Options::size, at_least(1), "[side] or [height, width] of the result")
        .option("area", &Options::area, "[low, high] of the piece's share of the picture", between(0, 1))
        .option("aspect", &Options::aspect, "[low, high] of the piece's width over its height", above(0))
        .option("middle", &Options::middle,
                "outside of training: the share of the largest piece of the size's aspect, by its sides",
                between(0, 1));
  }
  explicit RandomResizedCrop(Options options) : options_(std::move(options)) {}

  Result<TensorDesc> setup(const TensorDesc& sample) override {
    DLHOST_ASSIGN(src_, picture_of(sample));
    DLHOST_ASSIGN(const auto size, height_and_width(options_.size));
    DLHOST_ASSIGN(area_, range_of("area", options_.area, 1));
    DLHOST_ASSIGN(aspect_, range_of("aspect", options_.aspect, std::numeric_limits<double>::infinity()));
    dst_ = src_;
    dst_.height = size.first;
    dst_.width = size.second;
    DLHOST_TRY(check_resize(src_, dst_));
    return TensorDesc{sample.dtype, {src_.channels, dst_.height, dst_.width}, {}};
  }

  void apply(const std::byte* src, std::byte* dst, bool training, Random& random) const override {
    const Window window = training ? drawn(random)
                                   : middle_window(src_, static_cast<double>(dst_.height),
                                                   static_cast<double>(dst_.width), options_.middle);
    resize(src_, window, dst_, src, dst);
  }

 private:
  // If ten draws do not fit into the picture: the largest middle window with an aspect in the range.
  Window drawn(Random& random) const {
    for (int attempt = 0; attempt < 10; ++attempt) {
      const auto [height, width] = draw_sides(src_, area_, aspect_, random);
      if (height < 1 || width < 1 || height > src_.height || width > src_.width) continue;
      const std::int64_t top = random.below(static_cast<std::uint32_t>(src_.height - height) + 1);
      return {top, random.below(static_cast<std::uint32_t>(src_.width - width) + 1), height, width};
    }
    const double own = static_cast<double>(src_.width) / static_cast<double>(src_.height);
    return middle_window(src_, 1, std::clamp(own, aspect_.low, aspect_.high), 1);
  }

  Options options_;
  Picture src_, dst_;
  Range area_, aspect_;
};

} // namespace
} // namespace dlhost::augment

DLHOST_PLUGIN("1.0", dlhost::augment::RandomResizedCrop);
