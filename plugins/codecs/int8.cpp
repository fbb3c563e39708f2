#include <algorithm>

#include <dlhost/plugin.h>

#include "bytes.h"
#include "pieces.h"

namespace dlhost::plugins {

// Each block has a scale from its largest element. Rounds up or down at random, so that the mean is right.
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
    const vectors::Draws draws = drawn_from(random);
    Piece<float> room, drawn, arrives;
    float scale = 0; // of the block
    each_piece(values.size(), [&](std::size_t first, std::size_t count) {
      const auto some = wanted.some(first, count, room);
      codec_kernels().draw(draws, first, drawn.data(), static_cast<std::int64_t>(count));
      each_part(first, count, block_, [&](std::size_t block, std::size_t at, std::size_t part) {
        if (at == block * block_) put(out, block * sizeof(float), scale = scale_of(wanted, at));
        const std::size_t i = at - first;
        if (scale > 0) {
          codec_kernels().to_int8(&some[i], scale, &drawn[i], &codes[at], &arrives[i], part);
        } else { // all zeros, or NaN
          std::ranges::fill(codes.subspan(at, part), std::byte{});
          std::fill_n(&arrives[i], part, 0 * scale);
        }
      });
      wanted.sent(first, some, arrives);
    });
    return bound(shape);
  }
  Status decode_add(std::span<const std::byte>, const Shape& shape, std::span<const std::byte> in, float factor,
                    std::span<float> values) override {
    DLHOST_TRY(of_size(in, bound(shape)));
    const auto codes = in.subspan(scales(values.size()) * sizeof(float));
    each_part(0, values.size(), block_, [&](std::size_t block, std::size_t first, std::size_t count) {
      const float scale = factor * get<float>(in, block * sizeof(float));
      codec_kernels().add_int8(&codes[first], scale, &values[first], count);
    });
    return {};
  }

 private:
  std::size_t scales(std::size_t count) const { return (count + block_ - 1) / block_; }

  // NaN if an element is not finite: then the whole block arrives as NaN.
  float scale_of(const Wanted& wanted, std::size_t first) const {
    return wanted.greatest(first, std::min(block_, wanted.size() - first)) / 127;
  }

  Options options_;
  std::size_t block_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Int8);
