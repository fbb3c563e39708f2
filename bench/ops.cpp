// dlhost bench ops: single ops of the cpu device under Google Benchmark: GFLOP/s, GB/s at least, and the share of the
// machine's measured matrix-product peak. Each product is checked against a plain loop before timing; the devices'
// conformance suite checks the other ops.
#include <chrono>
#include <cmath>
#include <map>
#include <string>
#include <tuple>

#include <benchmark/benchmark.h>

#include <dlhost/parallel.h>

#include "cpu.h"
#include "net_works.h"
#include "op_run.h"

namespace dlhost::bench {
namespace {

plugins::cpu::Cpu& device() {
  static plugins::cpu::Cpu only({});
  return only;
}

GemmSpec product(DType type, std::int64_t rows, std::int64_t in, std::int64_t units, Format w = Format::any()) {
  GemmSpec spec;
  spec.x = {type, {rows, in}, {}};
  spec.w = {type, {units, in}, w};
  spec.y = {type, {rows, units}, {}};
  return spec;
}

SoftmaxLossSpec softmax_loss(DType type, Shape x, Role role) {
  SoftmaxLossSpec spec;
  spec.role = role;
  spec.x = {type, std::move(x), {}};
  return spec;
}

// Operations per second of the best of a few large products; measured once for each dtype.
double peak(DType type) {
  static std::map<DType, double> known;
  auto& best = known[type];
  if (best > 0) return best;
  auto run = OpRun::make(device(), product(type, 1024, 1024, 1024));
  for (int i = 0; run.ok() && i < 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run->run();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::max(best, run->op().operations / taken.count());
  }
  return best;
}

// Compares some elements of y = x w with a loop in double.
bool is_right(OpRun& run, const GemmSpec& spec) {
  run.run();
  const auto* x = reinterpret_cast<const float*>(run.input(0));
  const auto* w = reinterpret_cast<const float*>(run.input(1));
  const auto* y = reinterpret_cast<const float*>(run.output(0));
  const auto rows = spec.x.shape[0], in = spec.x.shape[1], units = spec.w.shape[0];
  for (std::int64_t i = 0; i < 64; ++i) {
    const auto row = i * 7 % rows, unit = i * 13 % units;
    double sum = 0;
    for (std::int64_t k = 0; k < in; ++k)
      sum += static_cast<double>(x[row * in + k]) * static_cast<double>(w[unit * in + k]);
    if (std::abs(sum - static_cast<double>(y[row * units + unit])) > 1e-4 * std::sqrt(static_cast<double>(in)))
      return false;
  }
  return true;
}

void time(benchmark::State& state, const OpSpec& spec, DType type, bool share) {
  auto run = OpRun::make(device(), spec);
  if (!run.ok()) return state.SkipWithError(run.status().message().c_str());
  const auto* gemm = std::get_if<GemmSpec>(&spec);
  if (gemm && type == DType::f32) {
    auto plain = OpRun::make(device(), product(type, gemm->x.shape[0], gemm->x.shape[1], gemm->w.shape[0], {}));
    if (!plain.ok() || !is_right(*plain, *gemm)) return state.SkipWithError("the product is wrong");
  }
  for (auto _ : state) run->run();
  const auto runs = static_cast<double>(state.iterations());
  state.counters["FLOP/s"] = benchmark::Counter(runs * run->op().operations, benchmark::Counter::kIsRate);
  state.counters["B/s"] = benchmark::Counter(runs * run->bytes(), benchmark::Counter::kIsRate);
  if (share)
    state.counters["share"] = benchmark::Counter(runs * run->op().operations / peak(type), benchmark::Counter::kIsRate);
  state.SetLabel(run->op().kernel);
}

void add_all(DType type) {
  const auto add = [&](const std::string& name, OpSpec spec, bool share) {
    benchmark::RegisterBenchmark((name + "/" + std::string(name_of(type))).c_str(), [=](benchmark::State& state) {
      time(state, spec, type, share);
    })->UseRealTime();
  };
  for (const auto& [rows, in, units] : {std::tuple{64, 784, 500}, {100, 2500, 2000}, {256, 2048, 2048}, {64, 500, 10}})
    add(concat("gemm ", rows, "x", in, "x", units), product(type, rows, in, units), true);
  for (const Shape& x : {Shape{640, 10000}, {32, 10000, 20}, {8, 21, 128, 128}, {2, 10000, 320}, {4, 5000, 7}}) {
    add(concat("softmax_loss ", to_string(x)), softmax_loss(type, x, Role::feature), false);
    add(concat("softmax_loss ", to_string(x), " gradient"), softmax_loss(type, x, Role::input_gradient), false);
  }
  for (const auto& net : net_works(type))
    for (const auto& work : net.works)
      if (!std::holds_alternative<GemmSpec>(work.feature))
        add(net.name + ": " + work.layer, work.feature, std::holds_alternative<ConvSpec>(work.feature));
}

} // namespace
} // namespace dlhost::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  dlhost::bench::add_all(dlhost::DType::f32);
  dlhost::bench::add_all(dlhost::DType::bf16);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
