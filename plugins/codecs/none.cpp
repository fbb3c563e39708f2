#include <algorithm>

#include <dlhost/codec.h>
#include <dlhost/plugin.h>

#include "floats.h"

namespace dlhost::plugins {

class None final : public Codec {
 public:
  static constexpr std::string_view name = "none";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("Contributions unencoded: four bytes an element."); }
  explicit None(Options) {}

  Traits traits() const override { return {.lossless = true, .unbiased = true, .sums = true}; }
  std::size_t bound(const Shape& shape) const override { return bytes_of_floats(shape.count()); }

  Result<std::size_t> encode(const Turn&, const Shape&, std::span<const float> values, State, std::span<std::byte> out,
                             Random&) override {
    std::memcpy(out.data(), values.data(), values.size_bytes());
    return values.size_bytes();
  }
  Status decode_add(std::span<const std::byte>, const Shape&, std::span<const std::byte> in, float factor,
                    std::span<float> values) override {
    return add_floats(in, factor, values);
  }
  Status add(std::span<const std::byte> in, std::span<std::byte> into) const override {
    return add_encoded_floats(in, into);
  }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::None);
