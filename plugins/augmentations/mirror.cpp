// Swaps left and right of some pictures in training.
#include <algorithm>
#include <cstring>

#include <dlhost/plugin.h>

#include "pictures.h"

namespace dlhost::augment {
namespace {

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
    const std::size_t bytes = picture_.plane_bytes() * static_cast<std::size_t>(picture_.channels);
    if (!training || random.uniform() >= options_.probability)
      std::memcpy(dst, src, bytes);
    else if (picture_.element == 1)
      flip(src, dst);
    else
      flip(reinterpret_cast<const float*>(src), reinterpret_cast<float*>(dst));
  }

 private:
  template <class T> void flip(const T* src, T* dst) const {
    const auto width = static_cast<std::size_t>(picture_.width);
    for (std::size_t at = 0; at < picture_.count(); at += width)
      for (std::size_t x = 0; x < width; ++x) dst[at + x] = src[at + width - 1 - x];
  }

  Options options_;
  Picture picture_;
};

} // namespace
} // namespace dlhost::augment

DLHOST_PLUGIN("1.0", dlhost::augment::Mirror);
