#include <algorithm>
#include <array>

#include <dlhost/plugin.h>

#include "bytes.h"
#include "feedback.h"

namespace dlhost::plugins {

// Each row of the matrix is sent as its signs and two numbers: the mean of what is negative and of what is not. Without
// feedback this learns nothing good (Seide et al. 2014), so there is no choice.
class OneBit final : public Codec {
 public:
  static constexpr std::string_view name = "one_bit";
  struct Options {};
  static Schema schema() {
    return SchemaOf<Options>("One bit an element and two means a row, with error feedback (Seide et al. 2014).");
  }
  explicit OneBit(Options) {}

  Traits traits() const override { return {.whole_matrix = true, .error_feedback = true}; }
  std::size_t bound(const Shape& shape) const override {
    return rows(shape) * 2 * sizeof(float) + bits_.bytes(static_cast<std::size_t>(shape.count()));
  }

  Result<std::size_t> encode(const Turn&, const Shape& shape, std::span<const float> values, State state,
                             std::span<std::byte> out, Random&) override {
    const Wanted wanted(values, state.error);
    const std::size_t columns = values.size() / rows(shape);
    const auto signs = out.subspan(rows(shape) * 2 * sizeof(float), bits_.bytes(values.size()));
    std::ranges::fill(signs, std::byte{});
    for (std::size_t row = 0; row < rows(shape); ++row) {
      std::array<double, 2> sums{};
      std::array<std::size_t, 2> counts{};
      for (std::size_t i = row * columns; i < (row + 1) * columns; ++i) {
        const unsigned sign = wanted[i] < 0 ? 1 : 0;
        sums[sign] += static_cast<double>(wanted[i]);
        ++counts[sign];
        bits_.put(signs, i, sign);
      }
      std::array<float, 2> means{};
      for (const unsigned sign : {0U, 1U}) {
        if (counts[sign] > 0) means[sign] = static_cast<float>(sums[sign] / static_cast<double>(counts[sign]));
        put(out, (2 * row + sign) * sizeof(float), means[sign]);
      }
      for (std::size_t i = row * columns; i < (row + 1) * columns; ++i) wanted.sent(i, means[bits_.get(signs, i)]);
    }
    return bound(shape);
  }
  Status decode_add(std::span<const std::byte>, const Shape& shape, std::span<const std::byte> in, float factor,
                    std::span<float> values) override {
    DLHOST_TRY(of_size(in, bound(shape)));
    const std::size_t columns = values.size() / rows(shape);
    const auto signs = in.subspan(rows(shape) * 2 * sizeof(float));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] += factor * get<float>(in, (2 * (i / columns) + bits_.get(signs, i)) * sizeof(float));
    return {};
  }

 private:
  // A vector is one row.
  static std::size_t rows(const Shape& shape) {
    return shape.rank() < 2 || shape[0] == 0 ? 1 : static_cast<std::size_t>(shape[0]);
  }

  Bits bits_{1};
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::OneBit);
