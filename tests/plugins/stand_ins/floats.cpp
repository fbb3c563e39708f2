// A codec that changes nothing, for the conformance suite of codecs until there is one of their own.
#include <cstring>

#include <dlhost/codec.h>
#include <dlhost/plugin.h>

namespace {
using namespace dlhost;

class Floats final : public Codec {
 public:
  static constexpr std::string_view name = "floats";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("Contributions as they are."); }
  explicit Floats(Options) {}

  Traits traits() const override { return {.lossless = true, .unbiased = true, .sums = true}; }
  std::size_t bound(const Shape& shape) const override {
    return static_cast<std::size_t>(shape.count()) * sizeof(float);
  }

  Result<std::size_t> encode(std::uint32_t, const Shape& shape, std::span<const float> values, std::span<float>,
                             std::span<std::byte> out, Random&) override {
    std::memcpy(out.data(), values.data(), bound(shape));
    return bound(shape);
  }
  Status decode_add(std::uint32_t, const Shape& shape, std::span<const std::byte> in, float factor,
                    std::span<float> values) const override {
    if (in.size() != bound(shape)) return Status::corrupt(in.size(), " bytes, but a slice has ", bound(shape));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += factor * number(in, i);
    return {};
  }
  Status add(std::span<const std::byte> in, std::span<std::byte> into) const override {
    if (in.size() != into.size()) return Status::corrupt("encodings of different lengths");
    for (std::size_t i = 0; i < in.size() / sizeof(float); ++i) {
      const float sum = number(in, i) + number(into, i);
      std::memcpy(into.data() + i * sizeof sum, &sum, sizeof sum);
    }
    return {};
  }

 private:
  static float number(std::span<const std::byte> bytes, std::size_t i) {
    float value;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return value;
  }
};

} // namespace

DLHOST_PLUGIN("1.0", Floats);
