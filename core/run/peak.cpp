#include "run/peak.h"

#include <algorithm>

namespace dlhost::run {

Result<double> measure_peak(Device& device, Stream& stream, Clock& clock, DType dtype) {
  constexpr std::int64_t side = 2048;
  constexpr int runs = 8;
  const TensorDesc any{dtype, {side, side}, Format::any()};
  DLHOST_ASSIGN(auto op, device.prepare(GemmSpec{.x = any, .w = any, .y = any}));
  DLHOST_ASSIGN(auto x, Memory::make(device, device.bytes(op->in[0])));
  DLHOST_ASSIGN(auto w, Memory::make(device, device.bytes(op->in[1])));
  DLHOST_ASSIGN(auto y, Memory::make(device, device.bytes(op->out[0])));
  DLHOST_ASSIGN(auto scratch, Memory::make(device, op->scratch_bytes + 1));
  for (Memory* memory : {&x, &w}) DLHOST_TRY(device.fill_zero(stream, memory->data(), memory->size()));
  double best = 0;
  for (int i = 0; i < runs; ++i) {
    const Nanoseconds begin = clock.now();
    op->run(stream, {x.data(), w.data()}, {y.data()}, scratch.data());
    DLHOST_TRY(stream.wait());
    const double seconds = static_cast<double>(clock.now() - begin) * 1e-9;
    if (seconds > 0) best = std::max(best, 2.0 * side * side * side / seconds);
  }
  return best;
}

} // namespace dlhost::run
