#include <algorithm>
#include <limits>

#include <dlhost/codec.h>
#include <dlhost/plugin.h>

#include "bytes.h"
#include "floats.h"

namespace dlhost::plugins {

// An encoding is the number of rows, their indices, and the rows; or `all` and the whole matrix if that is not longer.
class Rows final : public Codec {
 public:
  static constexpr std::string_view name = "rows";
  struct Options {};
  static Schema schema() {
    return SchemaOf<Options>(
        "The rows that are not zero, unencoded: of an embedding, those of the words in a batch. Nothing is lost.");
  }
  explicit Rows(Options) {}

  Traits traits() const override { return {.lossless = true, .unbiased = true, .whole_matrix = true}; }
  std::size_t bound(const Shape& shape) const override { return head + bytes_of_floats(shape.count()); }

  Result<std::size_t> encode(const Turn&, const Shape& shape, std::span<const float> values, State,
                             std::span<std::byte> out, Random&) override {
    const std::size_t rows = rows_of(shape), columns = values.size() / rows;
    const std::size_t fits = values.size_bytes() / (head + columns * sizeof(float)); // rows that fit with their indices
    std::size_t sent = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      if (is_zero(values.subspan(row * columns, columns))) continue;
      if (++sent > fits) return encode_all(values, out);
      put(out, sent * head, static_cast<std::uint32_t>(row));
    }
    put(out, 0, static_cast<std::uint32_t>(sent));
    std::size_t at = (1 + sent) * head;
    for (std::size_t i = 0; i < sent; ++i, at += columns * sizeof(float))
      std::memcpy(out.data() + at, &values[get<std::uint32_t>(out, (1 + i) * head) * columns], columns * sizeof(float));
    return at;
  }

  Status decode_add(std::span<const std::byte>, const Shape& shape, std::span<const std::byte> in, float factor,
                    std::span<float> values) override {
    if (in.size() < head) return of_size(in, head);
    const std::size_t rows = rows_of(shape), columns = values.size() / rows;
    const auto sent = get<std::uint32_t>(in, 0);
    if (sent == all) return add_floats(in.subspan(head), factor, values);
    if (sent > rows) return Status::corrupt("an encoding has ", sent, " rows of a matrix of ", rows);
    const std::size_t begin = (1 + std::size_t{sent}) * head, row_bytes = columns * sizeof(float);
    DLHOST_TRY(of_size(in, begin + sent * row_bytes));
    for (std::size_t i = 0; i < sent; ++i) {
      const auto row = get<std::uint32_t>(in, (1 + i) * head);
      if (row >= rows) return Status::corrupt("an encoding has row ", row, " of a matrix of ", rows);
      DLHOST_TRY(
          add_floats(in.subspan(begin + i * row_bytes, row_bytes), factor, values.subspan(row * columns, columns)));
    }
    return {};
  }

 private:
  static constexpr std::size_t head = sizeof(std::uint32_t);
  static constexpr std::uint32_t all = std::numeric_limits<std::uint32_t>::max();

  static std::size_t rows_of(const Shape& shape) {
    return std::max<std::size_t>(shape.rank() == 0 ? 1 : static_cast<std::size_t>(shape[0]), 1);
  }
  static bool is_zero(std::span<const float> row) {
    return std::ranges::none_of(row, [](float value) { return value != 0; });
  }
  static std::size_t encode_all(std::span<const float> values, std::span<std::byte> out) {
    put(out, 0, all);
    std::memcpy(out.data() + head, values.data(), values.size_bytes());
    return head + values.size_bytes();
  }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Rows);
