#include <algorithm>
#include <cmath>
#include <limits>

#include <dlhost/plugin.h>

#include "bytes.h"
#include "feedback.h"

namespace dlhost::plugins {

// Blocks have a scale each, by their greatest element. Rounding is up or down at random, so that the mean is right.
class Int8 final : public Codec {
 public:
  static constexpr std::string_view name = "int8";
  struct Options : FeedbackOptions {
    std::int64_t block = 256;
  };
  static Schema schema() {
    return with_feedback(SchemaOf<Options>("A byte an element, rounded at random so that the mean is right.")
                             .option("block", &Options::block, "elements that share a scale", at_least(1)));
  }
  explicit Int8(Options options) : options_(options), block_(static_cast<std::size_t>(options.block)) {}

  Traits traits() const override { return {.unbiased = true, .error_feedback = options_.feedback}; }
  std::size_t bound(const Shape& shape) const override {
    const auto count = static_cast<std::size_t>(shape.count());
    return scales(count) * sizeof(float) + count;
  }

  Result<std::size_t> encode(const Turn&, const Shape& shape, std::span<const float> values, State state,
                             std::span<std::byte> out, Random& random) override {
    const Wanted wanted(values, state.error);
    const auto codes = out.subspan(scales(values.size()) * sizeof(float));
    for (std::size_t first = 0; first < values.size(); first += block_) {
      const std::size_t last = std::min(values.size(), first + block_);
      const float scale = scale_of(wanted, first, last);
      put(out, first / block_ * sizeof(float), scale);
      for (std::size_t i = first; i < last; ++i) {
        const float lifted = scale > 0 ? wanted[i] / scale + random.uniform() : 0.0F; // not a number: 0 too
        const auto code = static_cast<std::int8_t>(std::clamp(std::floor(lifted), -127.0F, 127.0F));
        put(codes, i, code);
        wanted.sent(i, static_cast<float>(code) * scale);
      }
    }
    return bound(shape);
  }
  Status decode_add(std::span<const std::byte>, const Shape& shape, std::span<const std::byte> in, float factor,
                    std::span<float> values) override {
    DLHOST_TRY(of_size(in, bound(shape)));
    const auto codes = in.subspan(scales(values.size()) * sizeof(float));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] += factor * get<float>(in, i / block_ * sizeof(float)) * static_cast<float>(get<std::int8_t>(codes, i));
    return {};
  }

 private:
  std::size_t scales(std::size_t count) const { return (count + block_ - 1) / block_; }

  // Where an element is no number, none of the block shall arrive as one.
  static float scale_of(const Wanted& wanted, std::size_t first, std::size_t last) {
    float most = 0;
    for (std::size_t i = first; i < last; ++i) {
      if (!std::isfinite(wanted[i])) return std::numeric_limits<float>::quiet_NaN();
      most = std::max(most, std::abs(wanted[i]));
    }
    return most / 127;
  }

  Options options_;
  std::size_t block_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Int8);
