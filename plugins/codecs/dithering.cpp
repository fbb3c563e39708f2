#include <algorithm>
#include <bit>
#include <cmath>

#include <dlhost/plugin.h>

#include "bits.h"
#include "bytes.h"
#include "pieces.h"

namespace dlhost::plugins {

// QSGD (Alistarh et al. 2017) and natural dithering (Horvath et al. 2019): each element becomes its sign and a level of
// the block's norm, rounded up or down at random, so that the mean is right.
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
            .choice("norm", &Options::norm, {{"l2", Norm::l2}, {"max", Norm::max}},
                    "the norm that is the highest level")
            .choice("spacing", &Options::spacing, {{"linear", Spacing::linear}, {"natural", Spacing::natural}},
                    "levels at equal distances, or each the half of the next"));
  }
  explicit Dithering(const Options& options)
      : options_(options),
        block_(static_cast<std::size_t>(options.block)), levels_{static_cast<int>(options.levels),
                                                                 options.spacing == Spacing::natural},
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
    const vectors::Draws draws = drawn_from(random);
    Piece<float> room, drawn, arrives;
    float norm = 0; // of the block
    Piece<std::uint8_t> made;
    each_piece(values.size(), [&](std::size_t first, std::size_t count) {
      const auto some = wanted.some(first, count, room);
      codec_kernels().draw(draws, first, drawn.data(), static_cast<std::int64_t>(count));
      each_part(first, count, block_, [&](std::size_t block, std::size_t at, std::size_t part) {
        if (at == block * block_) put(out, block * sizeof(float), norm = norm_of(wanted, at));
        const std::size_t i = at - first;
        if (norm > 0) {
          codec_kernels().to_levels(&some[i], norm, levels_, &drawn[i], &made[i], &arrives[i], part);
        } else { // all zeros, or NaN
          std::fill_n(&made[i], part, std::uint8_t{0});
          std::fill_n(&arrives[i], part, 0 * norm);
        }
      });
      bits_.pack(std::span(made).first(count), first, codes);
      wanted.sent(first, some, arrives);
    });
    return bound(shape);
  }
  Status decode_add(std::span<const std::byte>, const Shape& shape, std::span<const std::byte> in, float factor,
                    std::span<float> values) override {
    DLHOST_TRY(of_size(in, bound(shape)));
    const auto codes = in.subspan(norms(values.size()) * sizeof(float));
    Piece<std::uint8_t> made;
    each_piece(values.size(), [&](std::size_t first, std::size_t count) {
      bits_.unpack(codes, first, std::span(made).first(count));
      each_part(first, count, block_, [&](std::size_t block, std::size_t at, std::size_t part) {
        const float norm = factor * get<float>(in, block * sizeof(float));
        codec_kernels().add_levels(&made[at - first], norm, levels_, &values[at], part);
      });
    });
    return {};
  }

 private:
  std::size_t norms(std::size_t count) const { return (count + block_ - 1) / block_; }

  // NaN if an element is not finite: then the whole block arrives as NaN.
  float norm_of(const Wanted& wanted, std::size_t first) const {
    const std::size_t last = std::min(wanted.size(), first + block_);
    const float most = wanted.greatest(first, last - first);
    if (options_.norm == Norm::max || std::isnan(most)) return most;
    double squares = 0;
    for (std::size_t i = first; i < last; ++i)
      squares += static_cast<double>(wanted[i]) * static_cast<double>(wanted[i]);
    return static_cast<float>(std::sqrt(squares));
  }

  Options options_;
  std::size_t block_;
  Levels levels_;
  Bits bits_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Dithering);
