#include "run/session/peak.h"

#include <algorithm>
#include <initializer_list>

namespace dlhost::run {
namespace {

constexpr int runs = 8;
constexpr Nanoseconds long_enough = 500'000'000; // of all runs, on a device that is slow

// The shortest of a few runs, in seconds.
Result<double> least_time(Op& op, Device& device, Stream& stream, Clock& clock,
                          std::initializer_list<const void*> inputs, void* output) {
  DLHOST_ASSIGN(const auto scratch, Memory::make(device, op.scratch_bytes + 1));
  Nanoseconds least = 0, all = 0;
  for (int i = 0; i < runs && all < long_enough; ++i) {
    const Nanoseconds begin = clock.now();
    op.run(stream, inputs, {output}, scratch.data());
    DLHOST_TRY(stream.wait());
    const Nanoseconds took = clock.now() - begin;
    least = i == 0 ? took : std::min(least, took);
    all += took;
  }
  return static_cast<double>(std::max<Nanoseconds>(least, 1)) * 1e-9;
}

} // namespace

Result<double> measure_peak(Device& device, Stream& stream, Clock& clock, DType dtype) {
  constexpr std::int64_t side = 2048;
  const TensorDesc any{dtype, {side, side}, Format::any()};
  DLHOST_ASSIGN(auto op, device.prepare(GemmSpec{.x = any, .w = any, .y = any}));
  DLHOST_ASSIGN(auto x, Memory::make(device, device.bytes(op->in[0])));
  DLHOST_ASSIGN(auto w, Memory::make(device, device.bytes(op->in[1])));
  DLHOST_ASSIGN(auto y, Memory::make(device, device.bytes(op->out[0])));
  for (Memory* memory : {&x, &w}) DLHOST_TRY(device.fill_zero(stream, memory->data(), memory->size()));
  DLHOST_ASSIGN(const double seconds, least_time(*op, device, stream, clock, {x.data(), w.data()}, y.data()));
  return 2.0 * side * side * side / seconds;
}

Result<double> measure_bytes(Device& device, Stream& stream, Clock& clock) {
  const TensorDesc row{DType::f32, {std::int64_t{1} << 25}, Format::plain()};
  MapSpec doubling{.expression = {}, .in = {row}, .out = {row}};
  const Term x = doubling.expression.input(0);
  doubling.expression.result(x + x);
  DLHOST_ASSIGN(auto op, device.prepare(doubling));
  DLHOST_ASSIGN(const auto from, Memory::make(device, device.bytes(row)));
  DLHOST_ASSIGN(const auto to, Memory::make(device, device.bytes(row)));
  DLHOST_TRY(device.fill_zero(stream, from.data(), from.size()));
  DLHOST_ASSIGN(const double seconds, least_time(*op, device, stream, clock, {from.data()}, to.data()));
  return static_cast<double>(from.size() + to.size()) / seconds;
}

} // namespace dlhost::run
