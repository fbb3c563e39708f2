// Adds a border to the picture and cuts a piece of fixed size: anywhere in training, else from the middle. Makes no
// padded copy: places outside of the picture get the border's value.
#include <algorithm>
#include <cstring>

#include <dlhost/plugin.h>

#include "pictures.h"

namespace dlhost::augment {
namespace {

class PadCrop : public Augmentation {
 public:
  static constexpr std::string_view name = "pad_crop";
  struct Options {
    std::int64_t pad = 4;
    std::vector<std::int64_t> size;
    double value = 0;
  };
  static Schema schema() {
    return SchemaOf<Options>("A piece of the padded picture: anywhere in training, the middle otherwise.")
        .option("pad", &Options::pad, "width of the border", between(0, 4096))
        .option("size", &Options::size, "[side] or [height, width] of the piece; default: the picture's", at_least(1))
        .option("value", &Options::value, "the value of the border");
  }
  explicit PadCrop(Options options) : options_(std::move(options)) {}

  Result<TensorDesc> setup(const TensorDesc& sample) override {
    DLHOST_ASSIGN(src_, picture_of(sample));
    dst_ = src_;
    if (!options_.size.empty()) {
      DLHOST_ASSIGN(const auto size, height_and_width(options_.size));
      dst_.height = size.first;
      dst_.width = size.second;
    }
    if (dst_.height > src_.height + 2 * options_.pad || dst_.width > src_.width + 2 * options_.pad)
      return Status::invalid("size is ", dst_.height, "x", dst_.width, ", but the padded picture has only ",
                             src_.height + 2 * options_.pad, "x", src_.width + 2 * options_.pad);
    if (src_.element == 1 && (options_.value < 0 || options_.value > 255))
      return Status::invalid("value is ", options_.value, ", but the picture holds bytes, 0 to 255");
    return TensorDesc{sample.dtype, {src_.channels, dst_.height, dst_.width}, {}};
  }

  void apply(const std::byte* src, std::byte* dst, bool training, Random& random) const override {
    const std::int64_t high = src_.height + 2 * options_.pad - dst_.height;
    const std::int64_t wide = src_.width + 2 * options_.pad - dst_.width;
    const std::int64_t y = training ? random.below(static_cast<std::uint32_t>(high) + 1) : high / 2;
    const std::int64_t x = training ? random.below(static_cast<std::uint32_t>(wide) + 1) : wide / 2;
    const std::int64_t top = y - options_.pad, left = x - options_.pad;
    // Columns of the piece inside the picture.
    const std::int64_t from = std::clamp<std::int64_t>(-left, 0, dst_.width);
    const std::int64_t to = std::clamp<std::int64_t>(src_.width - left, from, dst_.width);
    for (std::int64_t channel = 0; channel < dst_.channels; ++channel, src += src_.plane_bytes())
      for (std::int64_t row = 0; row < dst_.height; ++row, dst += dst_.row_bytes()) {
        const std::int64_t line = top + row;
        if (line < 0 || line >= src_.height || from == to) {
          fill(dst, 0, dst_.width);
          continue;
        }
        fill(dst, 0, from);
        std::memcpy(dst + bytes(from), src + static_cast<std::size_t>(line) * src_.row_bytes() + bytes(left + from),
                    bytes(to - from));
        fill(dst, to, dst_.width);
      }
  }

 private:
  std::size_t bytes(std::int64_t columns) const { return static_cast<std::size_t>(columns) * dst_.element; }
  void fill(std::byte* row, std::int64_t from, std::int64_t to) const {
    if (dst_.element == 1)
      std::memset(row + from, static_cast<int>(options_.value), static_cast<std::size_t>(to - from));
    else
      std::fill(reinterpret_cast<float*>(row) + from, reinterpret_cast<float*>(row) + to,
                static_cast<float>(options_.value));
  }

  Options options_;
  Picture src_, dst_;
};

} // namespace
} // namespace dlhost::augment

DLHOST_PLUGIN("1.0", dlhost::augment::PadCrop);
