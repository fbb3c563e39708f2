#include "param/factors.h"

#include "param/table_memory.h"

namespace dlhost::param {

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

std::optional<Pieces> Pieces::of(const Device& device, const TensorDesc& master) {
  const std::int64_t rows = device.rows_together(master);
  if (rows == 0) return std::nullopt;
  TensorDesc piece = master;
  piece.shape = master.shape.with(0, rows);
  return Pieces{rows, static_cast<std::int64_t>(device.bytes(piece) / size_of(master.dtype))};
}

} // namespace dlhost::param
