#include <algorithm>
#include <array>

#include <dlhost/plugin.h>

#include "bits.h"
#include "bytes.h"
#include "pieces.h"

namespace dlhost::plugins {

// Each row of the matrix is sent as its signs and two numbers: the means of its negative and its other elements.
// Without feedback training fails (Seide et al. 2014), so feedback is always on.
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
    Piece<float> room, arrives;
    Piece<std::uint8_t> below;
    Means means;
    each_piece(values.size(), [&](std::size_t first, std::size_t count) {
      const auto some = wanted.some(first, count, room);
      codec_kernels().to_signs(some.data(), below.data(), count);
      bits_.pack(std::span(below).first(count), first, signs);
      each_part(first, count, columns, [&](std::size_t row, std::size_t at, std::size_t part) {
        if (at == row * columns) {
          means = means_of(wanted, at, columns);
          put(out, row * sizeof means, means);
        }
        std::fill_n(&arrives[at - first], part, 0.0F);
        codec_kernels().add_signs(&below[at - first], means.data(), &arrives[at - first], part);
      });
      wanted.sent(first, some, arrives);
    });
    return bound(shape);
  }
  Status decode_add(std::span<const std::byte>, const Shape& shape, std::span<const std::byte> in, float factor,
                    std::span<float> values) override {
    DLHOST_TRY(of_size(in, bound(shape)));
    const std::size_t columns = values.size() / rows(shape);
    const auto signs = in.subspan(rows(shape) * 2 * sizeof(float));
    Piece<std::uint8_t> below;
    each_piece(values.size(), [&](std::size_t first, std::size_t count) {
      bits_.unpack(signs, first, std::span(below).first(count));
      each_part(first, count, columns, [&](std::size_t row, std::size_t at, std::size_t part) {
        auto means = get<Means>(in, row * sizeof(Means));
        for (float& mean : means) mean *= factor;
        codec_kernels().add_signs(&below[at - first], means.data(), &values[at], part);
      });
    });
    return {};
  }

 private:
  using Means = std::array<float, 2>; // of elements not below zero, and of those below

  static Means means_of(const Wanted& wanted, std::size_t first, std::size_t columns) {
    Piece<float> room;
    Piece<std::uint8_t> below;
    double sums[2] = {}, counts[2] = {};
    for (std::size_t at = first, end = first + columns; at < end; at += piece) {
      const auto some = wanted.some(at, std::min(piece, end - at), room);
      const SignSums part = codec_kernels().to_signs(some.data(), below.data(), some.size());
      sums[0] += static_cast<double>(part.others);
      sums[1] += static_cast<double>(part.below);
      counts[0] += static_cast<double>(some.size() - part.count_below);
      counts[1] += static_cast<double>(part.count_below);
    }
    Means means{};
    for (const unsigned sign : {0U, 1U})
      if (counts[sign] > 0) means[sign] = static_cast<float>(sums[sign] / counts[sign]);
    return means;
  }

  // A vector counts as one row.
  static std::size_t rows(const Shape& shape) {
    return shape.rank() < 2 || shape[0] == 0 ? 1 : static_cast<std::size_t>(shape[0]);
  }

  Bits bits_{1};
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::OneBit);
