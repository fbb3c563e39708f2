#include "param/store/factors.h"

#include <algorithm>

#include "param/table/table_memory.h"

namespace dlhost::param {

bool Factors::make(const Shape& dw) const {
  if (!of_rows) return dy.shape.rank() == 2 && dw == x.shape.with(0, dy.shape[1]);
  if (dw.rank() != 2 || dy.shape.rank() != x.shape.rank() + 1 || dy.shape[x.shape.rank()] != dw[1]) return false;
  return std::equal(x.shape.begin(), x.shape.end(), dy.shape.begin());
}

std::size_t Factors::dy_at() const {
  std::size_t end = 0;
  take_lines(end, x.plain_bytes());
  return end;
}

GemmSpec Factors::product(const TensorDesc& dw, std::size_t contributions) const {
  const std::int64_t rows = x.shape[0] * static_cast<std::int64_t>(contributions);
  GemmSpec spec{.role = Role::param_gradient, .x = x, .w = dw, .b = {}, .y = dy, .epilogue = {}};
  spec.x.shape = x.shape.with(0, rows);
  spec.y.shape = {rows, dw.shape[0]};
  return spec;
}

void Factors::add_rows(const std::byte* left, std::int64_t first, std::int64_t count, float* dw) const {
  const auto* numbers = reinterpret_cast<const std::int32_t*>(left);
  const auto* rows = reinterpret_cast<const float*>(left + dy_at());
  const std::int64_t length = dy.shape[dy.shape.rank() - 1];
  for (std::int64_t n = 0; n < x.count(); ++n) {
    const std::int64_t row = numbers[n] - first;
    if (row < 0 || row >= count) continue; // another server's, or part's
    for (std::int64_t i = 0; i < length; ++i) dw[row * length + i] += rows[n * length + i];
  }
}

std::optional<Pieces> Pieces::of(const Device& device, const TensorDesc& master) {
  const std::int64_t rows = device.rows_together(master);
  if (rows == 0) return std::nullopt;
  TensorDesc piece = master;
  piece.shape = master.shape.with(0, rows);
  return Pieces{rows, static_cast<std::int64_t>(device.bytes(piece) / size_of(master.dtype))};
}

} // namespace dlhost::param
