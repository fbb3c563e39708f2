#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <dlhost/plugin.h>

#include "bytes.h"
#include "feedback.h"

namespace dlhost::plugins {

// QSGD (Alistarh et al. 2017), and natural dithering (Horvath et al. 2019): of each element its sign and a level of the
// block's norm, the one below or the one above at random, so that the mean is right.
class Dithering final : public Codec {
 public:
  static constexpr std::string_view name = "dithering";
  enum class Norm : std::uint8_t { l2, max };
  enum class Spacing : std::uint8_t { linear, natural };
  struct Options : FeedbackOptions {
    Options() : FeedbackOptions{false} {}
    std::int64_t levels = 7;
    std::int64_t block = 512;
    Norm norm = Norm::l2;
    Spacing spacing = Spacing::linear;
  };
  static Schema schema() {
    return with_feedback(
        SchemaOf<Options>("A sign and a level of the norm, rounded at random so that the mean is right (QSGD).")
            .option("levels", &Options::levels, "above zero; 7 take 4 bits an element", between(1, 127))
            .option("block", &Options::block, "elements that share a norm", at_least(1))
            .choice("norm", &Options::norm, {{"l2", Norm::l2}, {"max", Norm::max}}, "what the highest level stands for")
            .choice("spacing", &Options::spacing, {{"linear", Spacing::linear}, {"natural", Spacing::natural}},
                    "levels at equal distances, or each the half of the next"));
  }
  explicit Dithering(const Options& options)
      : options_(options), block_(static_cast<std::size_t>(options.block)),
        bits_(1 + std::bit_width(static_cast<unsigned>(options.levels))) {}

  Traits traits() const override { return {.unbiased = true, .error_feedback = options_.feedback}; }
  std::size_t bound(const Shape& shape) const override {
    const auto count = static_cast<std::size_t>(shape.count());
    return norms(count) * sizeof(float) + bits_.bytes(count);
  }

  Result<std::size_t> encode(const Turn&, const Shape& shape, std::span<const float> values, State state,
                             std::span<std::byte> out, Random& random) override {
    const Wanted wanted(values, state.error);
    const auto codes = out.subspan(norms(values.size()) * sizeof(float), bits_.bytes(values.size()));
    std::ranges::fill(codes, std::byte{});
    for (std::size_t first = 0; first < values.size(); first += block_) {
      const std::size_t last = std::min(values.size(), first + block_);
      const float norm = norm_of(wanted, first, last);
      put(out, first / block_ * sizeof(float), norm);
      for (std::size_t i = first; i < last; ++i) {
        const float value = wanted[i];
        const unsigned level = norm > 0 ? level_of(std::min(1.0F, std::abs(value) / norm), random.uniform()) : 0;
        const unsigned code = level << 1U | (value < 0 ? 1U : 0U);
        bits_.put(codes, i, code);
        wanted.sent(i, norm * decoded(code));
      }
    }
    return bound(shape);
  }
  Status decode_add(std::span<const std::byte>, const Shape& shape, std::span<const std::byte> in, float factor,
                    std::span<float> values) override {
    DLHOST_TRY(of_size(in, bound(shape)));
    const auto codes = in.subspan(norms(values.size()) * sizeof(float));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] += factor * get<float>(in, i / block_ * sizeof(float)) * decoded(bits_.get(codes, i));
    return {};
  }

 private:
  std::size_t norms(std::size_t count) const { return (count + block_ - 1) / block_; }

  // Where an element is no number, none of the block shall arrive as one.
  float norm_of(const Wanted& wanted, std::size_t first, std::size_t last) const {
    double squares = 0;
    float most = 0;
    for (std::size_t i = first; i < last; ++i) {
      if (!std::isfinite(wanted[i])) return std::numeric_limits<float>::quiet_NaN();
      most = std::max(most, std::abs(wanted[i]));
      squares += static_cast<double>(wanted[i]) * static_cast<double>(wanted[i]);
    }
    return options_.norm == Norm::max ? most : static_cast<float>(std::sqrt(squares));
  }

  // Where level `level` lies between 0 and 1.
  float place(unsigned level) const {
    const auto top = static_cast<int>(options_.levels);
    if (options_.spacing == Spacing::linear) return static_cast<float>(level) / static_cast<float>(top);
    return level == 0 ? 0.0F : std::ldexp(1.0F, static_cast<int>(level) - top);
  }
  unsigned level_of(float share, float draw) const {
    const auto top = static_cast<unsigned>(options_.levels);
    unsigned below = 0;
    if (options_.spacing == Spacing::linear) {
      below = std::min(top, static_cast<unsigned>(share * static_cast<float>(top)));
    } else {
      int exponent = 0;
      std::frexp(share, &exponent); // share in [2^(exponent - 1), 2^exponent)
      below = static_cast<unsigned>(std::max(0, static_cast<int>(top) - 1 + exponent));
      if (share == 0) below = 0;
    }
    if (below >= top) return top;
    const float low = place(below), high = place(below + 1);
    return draw * (high - low) < share - low ? below + 1 : below;
  }
  // A code that no encoder makes is as good as the highest level.
  float decoded(unsigned code) const {
    const float size = place(std::min(code >> 1U, static_cast<unsigned>(options_.levels)));
    return (code & 1U) != 0 ? -size : size;
  }

  Options options_;
  std::size_t block_;
  Bits bits_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Dithering);
