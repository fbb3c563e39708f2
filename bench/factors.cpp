// dlhost bench factors: what a worker with a server beside it does for a dense layer's weight in a step, two of them
// sharing the work. Either it makes the gradient of its rows, of the whole weight, and updates its half of it by both
// workers' gradients; or it multiplies both workers' factors for its half, and updates that piece by piece.
//
//   DLHOST_PLUGIN_PATH=build/plugins build/bench/factors --benchmark_enable_random_interleaving=true
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <dlhost/parallel.h>

#include "env/real_host.h"
#include "param/store/factored_update.h"
#include "plugin/registry.h"

namespace dlhost {
namespace {

constexpr std::int64_t workers = 2;

struct Case {
  const char* name;
  std::int64_t units, inputs, rows; // of each worker
  DType dtype;
};

constexpr Case cases[] = {
    {"2000x2500, 50 rows", 2000, 2500, 50, DType::f32},
    {"2000x2500, 50 rows, bf16", 2000, 2500, 50, DType::bf16},
    {"4096x9216, 32 rows", 4096, 9216, 32, DType::f32},
    {"2048x2048, 128 rows", 2048, 2048, 128, DType::f32},
};

class Weight {
 public:
  Status prepare(const Case& of) {
    DLHOST_ASSIGN(device_, registry_.create<Device>("cpu", {}));
    DLHOST_ASSIGN(stream_, device_->stream());
    store_ = std::make_unique<param::Store>(*device_, *stream_);
    DLHOST_ASSIGN(param_, store_->declare({.name = "w", .shape = {of.units, of.inputs}, .init = {}}));
    Table options;
    options.entries.emplace_back("momentum", Value{0.9});
    DLHOST_ASSIGN(updater_, registry_.create<Updater>("sgd", options));
    rule_ = updater_->rule();
    const param::Factors own{.x = {of.dtype, {of.rows, of.inputs}, {}}, .dy = {of.dtype, {of.rows, of.units}, {}}};
    DLHOST_ASSIGN(gradient_, device_->prepare(own.product(param_->master, 1)));
    store_->settle(*param_, gradient_->out[0]);
    param_->factors = own;
    store_->lay_out(&rule_);
    DLHOST_TRY(store_->allocate(&rule_));
    param_->pieces = *param::Pieces::of(*device_, param_->master);
    const auto elements = static_cast<std::int64_t>(device_->bytes(param_->master) / sizeof(float));
    half_ = param::Slices::cut(std::array{elements}, workers, 1, std::array{param_->pieces.elements})[workers - 1];
    histories_ = {{reinterpret_cast<float*>(param_->history[0].data())}};
    value_ = reinterpret_cast<float*>(param_->value.data());
    for (std::int64_t w = 0; w < workers; ++w) {
      DLHOST_ASSIGN(sent_.emplace_back(), Memory::make(*device_, own.bytes()));
      DLHOST_TRY(device_->fill_zero(*stream_, sent_.back().data(), sent_.back().size()));
    }
    return {};
  }

  Status prepare_gradients() {
    DLHOST_ASSIGN(scratch_, Memory::make(*device_, gradient_->scratch_bytes + 1));
    for (std::int64_t w = 0; w < workers; ++w) {
      DLHOST_ASSIGN(gradients_.emplace_back(), Memory::make(*device_, device_->bytes(param_->master)));
      DLHOST_TRY(device_->fill_zero(*stream_, gradients_.back().data(), gradients_.back().size()));
      brought_.push_back(reinterpret_cast<const float*>(gradients_.back().data()));
    }
    DLHOST_ASSIGN(
        update_, param::SliceUpdate::prepare(*store_, *param_, half_.count, histories_, workers, *updater_, rule_, {}));
    return {};
  }
  Status run_gradients(std::uint64_t count) {
    const std::byte* sent = sent_[0].data();
    gradient_->run(*stream_, {sent, sent + param_->factors->dy_at()}, {gradients_[0].data()}, scratch_.data());
    return update_->run({.from = value_, .to = value_, .gradients = brought_, .count = count, .rate = 0.01}, {});
  }

  Status prepare_factors() {
    DLHOST_ASSIGN(factored_, param::FactoredUpdate::prepare({.store = store_.get(),
                                                             .param = param_,
                                                             .slice = &half_,
                                                             .histories = histories_,
                                                             .contributions = workers,
                                                             .updater = updater_.get(),
                                                             .rule = &rule_,
                                                             .settings = {}}));
    DLHOST_ASSIGN(scratch_, Memory::make(*device_, factored_->room()));
    factored_->work_in({scratch_.data(), scratch_.size()});
    for (const Memory& sent : sent_) brought_.push_back(reinterpret_cast<const float*>(sent.data()));
    return {};
  }
  Status run_factors(std::uint64_t count) {
    return factored_->run({.from = value_, .to = value_, .gradients = brought_, .count = count, .rate = 0.01});
  }

 private:
  env::RealHost host_{LogLevel::warning};
  plugin::Registry registry_{plugin::entries_of(plugin::settings_of_process({})), host_};
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<param::Store> store_;
  param::Param* param_ = nullptr;
  std::unique_ptr<Updater> updater_;
  Updater::Rule rule_;
  param::Slice half_;
  param::SliceUpdate::Histories histories_;
  float* value_ = nullptr;
  std::vector<Memory> sent_, gradients_; // of each worker
  std::vector<const float*> brought_;
  std::unique_ptr<Op> gradient_;
  std::unique_ptr<param::SliceUpdate> update_;
  std::unique_ptr<param::FactoredUpdate> factored_;
  Memory scratch_;
};

void measure(benchmark::State& state, const Case& of, Status (Weight::*prepare)(),
             Status (Weight::*run)(std::uint64_t)) {
  set_parallel_threads(1);
  Weight weight;
  Status status = weight.prepare(of);
  if (status.ok()) status = (weight.*prepare)();
  std::uint64_t count = 0;
  for (auto _ : state) {
    if (status.ok()) status = (weight.*run)(++count);
    if (!status.ok()) return state.SkipWithError(status.message().c_str());
  }
  const auto operations = static_cast<double>(2 * of.units * of.inputs * of.rows);
  state.counters["FLOP"] = benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate);
}

} // namespace
} // namespace dlhost

int main(int count, char** words) {
  using namespace dlhost;
  for (const Case& of : cases) {
    const auto add = [&](const char* kind, Status (Weight::*prepare)(), Status (Weight::*run)(std::uint64_t)) {
      benchmark::RegisterBenchmark(fmt::format("{}/{}", kind, of.name).c_str(), measure, of, prepare, run)
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
    };
    add("gradients", &Weight::prepare_gradients, &Weight::run_gradients);
    add("factors", &Weight::prepare_factors, &Weight::run_factors);
  }
  benchmark::Initialize(&count, words);
  benchmark::RunSpecifiedBenchmarks();
}
