// (x - mean) * scale into f32: one number for all, or one for each channel.
#include <dlhost/plugin.h>

#include "pictures.h"

namespace dlhost::augment {
namespace {

[[DLHOST_WIDE]] void convert(const std::uint8_t* src, float* __restrict dst, std::size_t count, float mean,
                             float scale) {
  for (std::size_t i = 0; i < count; ++i) dst[i] = (static_cast<float>(src[i]) - mean) * scale;
}

[[DLHOST_WIDE]] void convert_floats(const float* src, float* __restrict dst, std::size_t count, float mean,
                                    float scale) {
  for (std::size_t i = 0; i < count; ++i) dst[i] = (src[i] - mean) * scale;
}

class Normalize : public Augmentation {
 public:
  static constexpr std::string_view name = "normalize";
  struct Options {
    std::vector<double> mean{0}, scale{1}, deviation;
  };
  static Schema schema() {
    return SchemaOf<Options>("(x - mean) * scale, as f32.")
        .option("mean", &Options::mean, "taken away: one number, or one for each index of the first axis")
        .option("scale", &Options::scale, "multiplied with: one number, or one for each index of the first axis")
        .option("deviation", &Options::deviation, "divided by, instead of scale", above(0));
  }
  explicit Normalize(Options options) : options_(std::move(options)) {}

  Result<TensorDesc> setup(const TensorDesc& sample) override {
    if (sample.dtype != DType::u8 && sample.dtype != DType::f32)
      return Status::invalid("the sample is ", name_of(sample.dtype), ", but must be u8 or f32");
    if (sample.shape.rank() == 0) return Status::invalid("the sample is a single number");
    const auto channels = static_cast<std::size_t>(sample.shape[0]);
    if (!options_.deviation.empty()) {
      if (options_.scale != Options{}.scale) return Status::invalid("scale and deviation exclude each other");
      options_.scale.clear();
      for (const double deviation : options_.deviation) options_.scale.push_back(1 / deviation);
    }
    for (const auto* list : {&options_.mean, &options_.scale})
      if (list->size() != 1 && list->size() != channels)
        return Status::invalid(list == &options_.mean ? "mean" : "scale or deviation", " has ", list->size(),
                               " numbers, but must have 1 or ", channels);
    lines_.clear();
    for (std::size_t c = 0; c < channels; ++c)
      lines_.push_back({static_cast<float>(options_.mean[options_.mean.size() == 1 ? 0 : c]),
                        static_cast<float>(options_.scale[options_.scale.size() == 1 ? 0 : c])});
    stretch_ = static_cast<std::size_t>(sample.shape.past(1));
    bytes_ = sample.dtype == DType::u8;
    return sample.as(DType::f32);
  }

  void apply(const std::byte* src, std::byte* dst, bool, Random&) const override {
    auto* into = reinterpret_cast<float*>(dst);
    for (const auto [mean, scale] : lines_) {
      if (bytes_)
        convert(reinterpret_cast<const std::uint8_t*>(src), into, stretch_, mean, scale);
      else
        convert_floats(reinterpret_cast<const float*>(src), into, stretch_, mean, scale);
      src += stretch_ * (bytes_ ? sizeof(std::uint8_t) : sizeof(float));
      into += stretch_;
    }
  }

 private:
  struct Line {
    float mean, scale;
  };

  Options options_;
  std::vector<Line> lines_; // for each channel
  std::size_t stretch_ = 0;
  bool bytes_ = false;
};

} // namespace
} // namespace dlhost::augment

DLHOST_PLUGIN("1.0", dlhost::augment::Normalize);
