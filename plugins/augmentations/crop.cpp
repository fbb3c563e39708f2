// Cuts a piece of fixed size: anywhere in training, else from the middle.
#include <cstring>

#include <dlhost/plugin.h>

#include "pictures.h"

namespace dlhost::augment {
namespace {

class Crop : public Augmentation {
 public:
  static constexpr std::string_view name = "crop";
  struct Options {
    std::vector<std::int64_t> size;
  };
  static Schema schema() {
    return SchemaOf<Options>("A piece of the picture: anywhere in training, the middle otherwise.")
        .required("size", &Options::size, at_least(1), "[side] or [height, width] of the piece");
  }
  explicit Crop(Options options) : options_(std::move(options)) {}

  Result<TensorDesc> setup(const TensorDesc& sample) override {
    DLHOST_ASSIGN(src_, picture_of(sample));
    DLHOST_ASSIGN(const auto size, height_and_width(options_.size));
    dst_ = src_;
    dst_.height = size.first;
    dst_.width = size.second;
    if (dst_.height > src_.height || dst_.width > src_.width)
      return Status::invalid("size is ", dst_.height, "x", dst_.width, ", but the picture has only ", src_.height, "x",
                             src_.width, "; pad_crop can cut more");
    return TensorDesc{sample.dtype, {src_.channels, dst_.height, dst_.width}, {}};
  }

  void apply(const std::byte* src, std::byte* dst, bool training, Random& random) const override {
    const std::int64_t high = src_.height - dst_.height, wide = src_.width - dst_.width;
    const std::int64_t y = training ? random.below(static_cast<std::uint32_t>(high) + 1) : high / 2;
    const std::int64_t x = training ? random.below(static_cast<std::uint32_t>(wide) + 1) : wide / 2;
    src += static_cast<std::size_t>(y) * src_.row_bytes() + static_cast<std::size_t>(x) * dst_.element;
    for (std::int64_t channel = 0; channel < dst_.channels; ++channel, src += src_.plane_bytes()) {
      const std::byte* line = src;
      for (std::int64_t row = 0; row < dst_.height; ++row) {
        std::memcpy(dst, line, dst_.row_bytes());
        line += src_.row_bytes();
        dst += dst_.row_bytes();
      }
    }
  }

 private:
  Options options_;
  Picture src_, dst_;
};

} // namespace
} // namespace dlhost::augment

DLHOST_PLUGIN("1.0", dlhost::augment::Crop);
