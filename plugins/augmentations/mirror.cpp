// Swaps left and right of some pictures in training.
#include <algorithm>
#include <cstring>

#include <dlhost/plugin.h>

#include "pictures.h"

namespace dlhost::augment {
namespace {

// Eight bytes at a time; the last eight overlap the ones before. Rows are short, and a compiler's vector loop would
// leave half of a row to single bytes.
void flip_row(const std::uint8_t* src, std::uint8_t* __restrict dst, std::size_t width) {
  constexpr std::size_t word = sizeof(std::uint64_t);
  if (width < word) {
    std::reverse_copy(src, src + width, dst);
    return;
  }
  const auto flip_word = [&](std::size_t x) {
    std::uint64_t bytes;
    std::memcpy(&bytes, src + width - word - x, word);
    bytes = __builtin_bswap64(bytes);
    std::memcpy(dst + x, &bytes, word);
  };
  for (std::size_t x = 0; x + word <= width; x += word) flip_word(x);
  flip_word(width - word);
}

void flip(const std::uint8_t* src, std::uint8_t* dst, std::size_t count, std::size_t width) {
  for (std::size_t at = 0; at < count; at += width) flip_row(src + at, dst + at, width);
}

[[DLHOST_WIDE]] void flip_floats(const float* src, float* __restrict dst, std::size_t count, std::size_t width) {
  for (std::size_t at = 0; at < count; at += width)
    for (std::size_t x = 0; x < width; ++x) dst[at + x] = src[at + width - 1 - x];
}

class Mirror : public Augmentation {
 public:
  static constexpr std::string_view name = "mirror";
  struct Options {
    double probability = 0.5;
  };
  static Schema schema() {
    return SchemaOf<Options>("Swaps left and right, in training.")
        .option("probability", &Options::probability, "the share of pictures that are mirrored", between(0, 1));
  }
  explicit Mirror(Options options) : options_(options) {}

  Result<TensorDesc> setup(const TensorDesc& sample) override {
    DLHOST_ASSIGN(picture_, picture_of(sample));
    return sample;
  }

  void apply(const std::byte* src, std::byte* dst, bool training, Random& random) const override {
    const std::size_t count = picture_.count(), width = static_cast<std::size_t>(picture_.width);
    if (!training || random.uniform() >= options_.probability)
      std::memcpy(dst, src, count * picture_.element);
    else if (picture_.element == 1)
      flip(reinterpret_cast<const std::uint8_t*>(src), reinterpret_cast<std::uint8_t*>(dst), count, width);
    else
      flip_floats(reinterpret_cast<const float*>(src), reinterpret_cast<float*>(dst), count, width);
  }

 private:
  Options options_;
  Picture picture_;
};

} // namespace
} // namespace dlhost::augment

DLHOST_PLUGIN("1.0", dlhost::augment::Mirror);
