// An op whose result shows every forgotten change, and shared parts of the tests of replayed steps.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <ostream>
#include <vector>

#include <gtest/gtest.h>

#include "host_stream.h"
#include "kernels/launch.h"
#include "kernels/prepare.h"
#include "kernels/replay.h"

namespace dlhost::test {

using plugins::cuda::Call;
using plugins::cuda::KernelOp;
using plugins::cuda::Replay;
using plugins::cuda::WorkStream;

// y = y + x * scalar + valid + epoch + the seed + each sample's number: a forgotten change shows.
class SumUp final : public KernelOp {
 public:
  using Op::run;
  SumUp() {
    kernel = "sum up";
    scratch_bytes = room_for * sizeof(std::uint32_t);
  }
  static constexpr std::size_t room_for = 8;
  int runs = 0;
  std::size_t launches = 1;
  Status fails; // the next run's error

 protected:
  struct Body {
    const float* x;
    float* y;
    const std::uint32_t* samples;
    std::size_t sample_count;
    float scalar, more;
    void operator()(std::int64_t i) const {
      y[i] += x[i] * scalar + more;
      for (std::size_t s = 0; s < sample_count; ++s) y[i] += static_cast<float>(samples[s]);
    }
  };
  void run(WorkStream& stream, const Call& call) override {
    ++runs;
    if (!fails.ok()) return stream.fail(std::exchange(fails, {}));
    const Dynamic& dynamic = call.dynamic;
    auto* const samples = reinterpret_cast<std::uint32_t*>(call.scratch);
    stream.bring(samples, dynamic.samples.data(), dynamic.samples.size_bytes());
    const Body body{static_cast<const float*>(call.in[0]),
                    static_cast<float*>(call.out[0]),
                    samples,
                    dynamic.samples.size(),
                    dynamic.scalars.empty() ? 1 : dynamic.scalars[0],
                    static_cast<float>(dynamic.valid + dynamic.epoch) + static_cast<float>(dynamic.key.seed) +
                        static_cast<float>(dynamic.key.stream)};
    for (std::size_t launch = 0; launch < launches; ++launch) plugins::cuda::each(stream, 2, body);
  }
};

class ReplayTest : public testing::Test {
 protected:
  struct Place {
    float x[2] = {1, 2}, y[2] = {0, 0}, more[Replay::least_calls] = {};
    std::array<std::uint32_t, SumUp::room_for> scratch{};
    float made() { return std::exchange(y[0], 0.0F); } // since the last call
  };
  // Adds enough other work to be worth a graph.
  void give(SumUp& one, Place& at, const Dynamic& dynamic = {}) {
    one.run(stream, {at.x}, {at.y}, at.scratch.data(), dynamic);
    fill(at);
  }
  void fill(Place& at) {
    for (float& one : std::span(at.more).subspan(1)) EXPECT_TRUE(stream.move(&one, nullptr, sizeof one).ok());
  }
  template <class Calls> void step(const Calls& calls) {
    stream.begin_step();
    calls();
    stream.end_step();
  }
  void steps(int number, SumUp& one, Place& at) {
    for (int s = 0; s < number; ++s) step([&] { give(one, at); });
  }
  struct Counts {
    int made = 0, changed = 0, launched = 0, refused = 0;
    bool operator==(const Counts&) const = default;
    friend std::ostream& operator<<(std::ostream& out, const Counts& of) {
      return out << of.made << " made, " << of.changed << " changed, " << of.launched << " launched, " << of.refused
                 << " refused";
    }
  };
  // Counts since the last call.
  Counts done() {
    return {counts.made.exchange(0), counts.changed.exchange(0), counts.launched.exchange(0),
            counts.refused.exchange(0)};
  }

  GraphCounts counts;
  HostStream stream{counts};
  SumUp op;
  Place place;
};

} // namespace dlhost::test
