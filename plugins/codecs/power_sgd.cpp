#include <algorithm>
#include <cmath>
#include <vector>

#include <dlhost/plugin.h>

#include "floats.h"
#include "pieces.h"

namespace dlhost::plugins {

// PowerSGD (Vogels et al. 2019): approximates a matrix M as P Q^T of low rank, by one step of the power method in each
// exchange. Round 0 sums P = M Q with the Q of the last exchange; round 1 makes P orthonormal and sums Q = M^T P. P and
// Q are stored transposed, so that all loops run over neighbours.
class PowerSgd final : public Codec {
 public:
  static constexpr std::string_view name = "power_sgd";
  struct Options : FeedbackOptions {
    std::int64_t rank = 2;
  };
  static Schema schema() {
    return with_feedback(SchemaOf<Options>("Matrices of a low rank that add up (Vogels et al. 2019). Other params, and "
                                           "matrices that would not become smaller, are sent unencoded.")
                             .option("rank", &Options::rank, "columns of both factors", between(1, 256)));
  }
  explicit PowerSgd(Options options) : options_(options) {}

  Traits traits() const override {
    return {.sums = true, .whole_matrix = true, .rounds = 2, .error_feedback = options_.feedback};
  }
  std::size_t learns(const Shape& shape) const override {
    const Sizes sizes = sizes_of(shape);
    return sizes.plain ? 0 : sizes.rank * sizes.columns;
  }
  std::size_t bound(const Shape& shape) const override {
    const Sizes sizes = sizes_of(shape);
    return sizes.plain ? bytes_of_floats(shape.count())
                       : sizes.rank * std::max(sizes.rows, sizes.columns) * sizeof(float);
  }

  Result<std::size_t> encode(const Turn& turn, const Shape& shape, std::span<const float> values, State state,
                             std::span<std::byte> out, Random& random) override {
    const Sizes sizes = sizes_of(shape);
    if (sizes.plain) return turn.round == 0 ? 0 : as_they_are(values, state, out);
    if (turn.round == 0) {
      first_factor(sizes, values, state, random);
    } else {
      DLHOST_TRY(take_basis(sizes, turn.before));
      second_factor(sizes, values, state.error);
    }
    const auto factor = std::as_bytes(std::span(factor_));
    std::copy(factor.begin(), factor.end(), out.begin());
    return factor.size();
  }
  Status decode_add(std::span<const std::byte> before, const Shape& shape, std::span<const std::byte> in, float factor,
                    std::span<float> values) override {
    const Sizes sizes = sizes_of(shape);
    if (sizes.plain) return add_floats(in, factor, values);
    DLHOST_TRY(of_size(in, sizes.rank * sizes.columns * sizeof(float)));
    DLHOST_TRY(take_basis(sizes, before));
    factor_.resize(sizes.rank * sizes.columns);
    std::copy(in.begin(), in.end(), std::as_writable_bytes(std::span(factor_)).begin());
    for (std::size_t row = 0; row < sizes.rows; ++row)
      for (std::size_t k = 0; k < sizes.rank; ++k)
        add_scaled(factor * basis_[k * sizes.rows + row], &factor_[k * sizes.columns], &values[row * sizes.columns],
                   sizes.columns);
    return {};
  }
  Status add(std::span<const std::byte> in, std::span<std::byte> into) const override {
    return add_encoded_floats(in, into);
  }
  Status learn(std::span<const std::byte>, const Shape& shape, std::span<const std::byte> sum, State state) override {
    if (sizes_of(shape).plain) return {};
    DLHOST_TRY(of_size(sum, state.learned.size_bytes()));
    std::copy(sum.begin(), sum.end(), std::as_writable_bytes(state.learned).begin());
    return {};
  }

 private:
  struct Sizes {
    std::size_t rows = 1, columns = 1, rank = 1;
    bool plain = true;
  };
  Sizes sizes_of(const Shape& shape) const {
    Sizes sizes;
    if (shape.rank() < 2) return sizes;
    sizes.rows = static_cast<std::size_t>(shape[0]);
    sizes.columns = static_cast<std::size_t>(shape.past(1));
    sizes.rank = std::min({static_cast<std::size_t>(options_.rank), sizes.rows, sizes.columns});
    sizes.plain = sizes.rank * (sizes.rows + sizes.columns) >= sizes.rows * sizes.columns;
    return sizes;
  }

  static std::size_t as_they_are(std::span<const float> values, State state, std::span<std::byte> out) {
    const Wanted wanted(values, state.error);
    Piece<float> room;
    each_piece(values.size(), [&](std::size_t first, std::size_t count) {
      std::memcpy(out.data() + first * sizeof(float), wanted.some(first, count, room).data(), count * sizeof(float));
    });
    std::ranges::fill(state.error, 0.0F);
    return values.size_bytes();
  }

  // P = M Q, into factor_.
  void first_factor(const Sizes& sizes, std::span<const float> values, State state, Random& random) {
    for (std::size_t k = 0; k < sizes.rank; ++k) { // a row of zeros (at the start, or died out) gets random values
      const auto q = state.learned.subspan(k * sizes.columns, sizes.columns);
      if (std::ranges::all_of(q, [](float v) { return v == 0; }))
        for (float& v : q) v = 2 * random.uniform() - 1;
    }
    factor_.resize(sizes.rank * sizes.rows);
    for (std::size_t k = 0; k < sizes.rank; ++k)
      for (std::size_t row = 0; row < sizes.rows; ++row) {
        const float* q = &state.learned[k * sizes.columns];
        float sum = product(&values[row * sizes.columns], q, sizes.columns);
        if (!state.error.empty()) sum += product(&state.error[row * sizes.columns], q, sizes.columns);
        factor_[k * sizes.rows + row] = sum;
      }
  }

  // Q = M^T P with P in basis_, into factor_; then the error that P Q^T leaves.
  void second_factor(const Sizes& sizes, std::span<const float> values, std::span<float> error) {
    factor_.assign(sizes.rank * sizes.columns, 0.0F);
    for (std::size_t row = 0; row < sizes.rows; ++row)
      for (std::size_t k = 0; k < sizes.rank; ++k) {
        const float p = basis_[k * sizes.rows + row];
        add_scaled(p, &values[row * sizes.columns], &factor_[k * sizes.columns], sizes.columns);
        if (!error.empty()) add_scaled(p, &error[row * sizes.columns], &factor_[k * sizes.columns], sizes.columns);
      }
    if (error.empty()) return;
    for (std::size_t row = 0; row < sizes.rows; ++row) {
      float* left = &error[row * sizes.columns];
      add_scaled(1, &values[row * sizes.columns], left, sizes.columns);
      for (std::size_t k = 0; k < sizes.rank; ++k)
        add_scaled(-basis_[k * sizes.rows + row], &factor_[k * sizes.columns], left, sizes.columns);
    }
  }

  // Makes the columns of P orthonormal (Gram-Schmidt); a dependent column becomes zero.
  Status take_basis(const Sizes& sizes, std::span<const std::byte> p) {
    basis_.resize(sizes.rank * sizes.rows);
    DLHOST_TRY(of_size(p, basis_.size() * sizeof(float)));
    std::copy(p.begin(), p.end(), std::as_writable_bytes(std::span(basis_)).begin());
    for (std::size_t k = 0; k < sizes.rank; ++k) {
      float* column = &basis_[k * sizes.rows];
      const float before = product(column, column, sizes.rows);
      for (std::size_t other = 0; other < k; ++other) {
        const float* done = &basis_[other * sizes.rows];
        add_scaled(-product(column, done, sizes.rows), done, column, sizes.rows);
      }
      const float square = product(column, column, sizes.rows);
      const float scale = square > 1e-10F * before ? 1 / std::sqrt(square) : 0.0F;
      for (std::size_t row = 0; row < sizes.rows; ++row) column[row] = scale == 0 ? 0 : column[row] * scale;
    }
    return {};
  }

  // Uses 16 partial sums, which the compiler keeps in vectors.
  static float product(const float* a, const float* b, std::size_t count) {
    float sums[16] = {};
    std::size_t i = 0;
    for (; i + 16 <= count; i += 16)
      for (std::size_t lane = 0; lane < 16; ++lane) sums[lane] += a[i + lane] * b[i + lane];
    float sum = 0;
    for (; i < count; ++i) sum += a[i] * b[i];
    for (const float part : sums) sum += part;
    return sum;
  }
  static void add_scaled(float factor, const float* from, float* to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) to[i] += factor * from[i];
  }

  Options options_;
  std::vector<float> basis_, factor_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::PowerSgd);
