// A held and replayed step allocates nothing from its third time on.
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "heap_watch.h"
#include "host_stream.h"
#include "kernels/prepare.h"

namespace dlhost::test {
namespace {

TEST(CudaHeld, AStepTakesNothingFromTheHeap) {
  constexpr std::size_t rows = 6, places = 2;
  MapSpec spec{.in = {{DType::f32, {rows}, {}}}, .out = {{DType::f32, {rows}, {}}}};
  spec.expression.result(spec.expression.input(0) * spec.expression.scalar(0) + spec.expression.uniform());
  const auto op = *plugins::cuda::prepare_own(spec);
  GraphCounts counts;
  HostStream stream(counts);
  std::array<std::array<float, rows>, places> x{}, y{};
  std::vector<std::byte> scratch(op->scratch_bytes);
  const float scalars[] = {2};
  std::array<std::uint32_t, rows> samples{};
  const auto step = [&](std::size_t place) {
    for (std::uint32_t& one : samples) ++one;
    stream.begin_step();
    for (int call = 0; call < 6; ++call) {
      op->run(stream, {x[place].data()}, {y[place].data()}, scratch.data(), {.scalars = scalars, .samples = samples});
      EXPECT_TRUE(stream.move(x[place].data(), y[place].data(), sizeof(float)).ok());
      if (call == 4) (void)stream.native(); // begins a second part, of too few calls
    }
    stream.end_step();
  };
  for (std::size_t s = 0; s < 3 * places; ++s) step(s % places);
  watch_heap();
  for (std::size_t s = 0; s < 3 * places; ++s) step(s % places);
  EXPECT_EQ(stop_watching_heap().ours, 0U) << first_of_ours();
  EXPECT_EQ(counts.made, static_cast<int>(places));
  EXPECT_EQ(counts.launched, static_cast<int>(5 * places));
}

} // namespace
} // namespace dlhost::test
