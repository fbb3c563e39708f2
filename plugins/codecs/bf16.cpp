#include <dlhost/half.h>
#include <dlhost/plugin.h>

#include "bytes.h"
#include "feedback.h"

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
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint16_t bits = bf16_of_float(wanted[i]);
      put(out, 2 * i, bits);
      wanted.sent(i, float_of_bf16(bits));
    }
    return values.size() * 2;
  }
  Status decode_add(std::span<const std::byte>, const Shape&, std::span<const std::byte> in, float factor,
                    std::span<float> values) override {
    DLHOST_TRY(of_size(in, values.size() * 2));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += factor * float_of_bf16(get<std::uint16_t>(in, 2 * i));
    return {};
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Bf16);
