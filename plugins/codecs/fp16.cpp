#include <algorithm>
#include <cmath>

#include <dlhost/plugin.h>

#include "bytes.h"
#include "pieces.h"

namespace dlhost::plugins {

// Gradients are small, and f16 ends at 6e-8: a slice is scaled by the power of two that brings its largest element near
// f16's upper end.
class Fp16 final : public Codec {
 public:
  static constexpr std::string_view name = "fp16";
  struct Options : FeedbackOptions {};
  static Schema schema() {
    return with_feedback(
        SchemaOf<Options>("Two bytes an element: 11 bits of precision, with one scale for the slice."));
  }
  explicit Fp16(Options options) : options_(options) {}

  Traits traits() const override { return {.error_feedback = options_.feedback}; }
  std::size_t bound(const Shape& shape) const override {
    return sizeof(float) + static_cast<std::size_t>(shape.count()) * 2;
  }

  Result<std::size_t> encode(const Turn&, const Shape& shape, std::span<const float> values, State state,
                             std::span<std::byte> out, Random&) override {
    const Wanted wanted(values, state.error);
    const float most = wanted.greatest(0, values.size());
    int exponent = 0;
    std::frexp(most, &exponent); // most < 2^exponent
    const float scale = std::isfinite(most) && most > 0 ? std::ldexp(1.0F, std::max(exponent - 15, -126)) : 1.0F;
    put(out, 0, scale);
    Piece<float> room, arrives;
    each_piece(values.size(), [&](std::size_t first, std::size_t count) {
      const auto some = wanted.some(first, count, room);
      codec_kernels().to_f16(some.data(), scale, out.subspan(sizeof(float) + 2 * first).data(), arrives.data(), count);
      wanted.sent(first, some, arrives);
    });
    return bound(shape);
  }
  Status decode_add(std::span<const std::byte>, const Shape& shape, std::span<const std::byte> in, float factor,
                    std::span<float> values) override {
    DLHOST_TRY(of_size(in, bound(shape)));
    codec_kernels().add_f16(in.subspan(sizeof(float)).data(), factor * get<float>(in, 0), values.data(), values.size());
    return {};
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Fp16);
