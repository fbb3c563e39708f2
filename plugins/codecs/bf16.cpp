#include <dlhost/plugin.h>

#include "bytes.h"
#include "pieces.h"

namespace dlhost::plugins {

class Bf16 final : public Codec {
 public:
  static constexpr std::string_view name = "bf16";
  struct Options : FeedbackOptions {};
  static Schema schema() {
    return with_feedback(SchemaOf<Options>("Two bytes an element: the range of f32, 8 bits of precision."));
  }
  explicit Bf16(Options options) : options_(options) {}

  Traits traits() const override { return {.error_feedback = options_.feedback}; }
  std::size_t bound(const Shape& shape) const override { return static_cast<std::size_t>(shape.count()) * 2; }

  Result<std::size_t> encode(const Turn&, const Shape&, std::span<const float> values, State state,
                             std::span<std::byte> out, Random&) override {
    const Wanted wanted(values, state.error);
    Piece<float> room, arrives;
    each_piece(values.size(), [&](std::size_t first, std::size_t count) {
      const auto some = wanted.some(first, count, room);
      codec_kernels().to_bf16(some.data(), out.subspan(2 * first).data(), arrives.data(), count);
      wanted.sent(first, some, arrives);
    });
    return values.size() * 2;
  }
  Status decode_add(std::span<const std::byte>, const Shape&, std::span<const std::byte> in, float factor,
                    std::span<float> values) override {
    DLHOST_TRY(of_size(in, values.size() * 2));
    codec_kernels().add_bf16(in.data(), factor, values.data(), values.size());
    return {};
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Bf16);
