// dlhost bench updates: the update of a large slice as a server makes it (the sum of the workers' gradients and the
// updater's rule in one pass), beside a plain loop that reads and writes as many arrays and computes next to nothing:
// what the memory allows.
//
//   DLHOST_PLUGIN_PATH=build/plugins build/bench/updates --benchmark_enable_random_interleaving=true
#include <algorithm>
#include <array>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <dlhost/parallel.h>

#include "env/real_host.h"
#include "param/store/slice_update.h"
#include "plugin/registry.h"

namespace dlhost {
namespace {

constexpr std::int64_t elements = std::int64_t{1} << 25; // no cache holds them

struct Case {
  const char* updater;
  int contributions;
  int history; // slots
  int reads() const { return 1 + history + contributions; }
  int writes() const { return 1 + history; }
};

constexpr Case cases[] = {{"sgd", 1, 1}, {"sgd", 2, 1}, {"sgd", 4, 1}, {"adam", 1, 2}, {"adam", 2, 2}};

void count_bytes(benchmark::State& state, const Case& which) {
  state.SetBytesProcessed(state.iterations() * elements * static_cast<std::int64_t>(sizeof(float)) *
                          (which.reads() + which.writes()));
}

constexpr std::int64_t line = 16;

// For the widest vectors that the processor has: with narrow ones a core does not keep up with its memory.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define DLHOST_WIDE [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define DLHOST_WIDE
#endif

// The numbers of arrays are known to the compiler: all pointers and sums are in registers.
template <std::size_t reads, std::size_t writes>
DLHOST_WIDE void walk(const std::array<float*, reads>& arrays, std::int64_t first, std::int64_t last) {
  for (auto at = first; at < last; at += line) {
    float sum[line] = {};
    for (std::size_t r = 0; r < reads; ++r)
      for (std::int64_t i = 0; i < line; ++i) sum[i] += arrays[r][at + i];
    for (std::size_t w = 0; w < writes; ++w)
      for (std::int64_t i = 0; i < line; ++i) arrays[w][at + i] = sum[i] * 0.125F;
  }
}

// Reads all arrays, and writes the first ones.
template <std::size_t reads, std::size_t writes> void memory_of(benchmark::State& state) {
  std::vector<std::vector<float>> held(reads, std::vector<float>(elements, 1));
  std::array<float*, reads> arrays;
  std::ranges::transform(held, arrays.begin(), [](auto& array) { return array.data(); });
  for (auto _ : state)
    parallel_ranges(elements / line, 1, [&](std::int64_t first, std::int64_t last) {
      walk<reads, writes>(arrays, first * line, last * line);
    });
}

void memory(benchmark::State& state, const Case& which) {
  set_parallel_threads(static_cast<int>(state.range(0)));
  switch (10 * which.reads() + which.writes()) {
  case 32: memory_of<3, 2>(state); break;
  case 42: memory_of<4, 2>(state); break;
  case 62: memory_of<6, 2>(state); break;
  case 43: memory_of<4, 3>(state); break;
  case 53: memory_of<5, 3>(state); break;
  default: return state.SkipWithError("nobody walks over so many arrays");
  }
  count_bytes(state, which);
}

// A slice that is all of a param, with the gradients of so many workers.
class Update {
 public:
  Status prepare(const Case& which) {
    DLHOST_ASSIGN(device_, registry_.create<Device>("cpu", {}));
    DLHOST_ASSIGN(stream_, device_->stream());
    store_ = std::make_unique<param::Store>(*device_, *stream_);
    DLHOST_ASSIGN(param::Param * param, store_->declare({.name = "w", .shape = {elements}, .init = {}}));
    DLHOST_ASSIGN(updater_, registry_.create<Updater>(which.updater, options(which)));
    const auto rule = updater_->rule();
    if (rule.history.size() != static_cast<std::size_t>(which.history))
      return Status::internal(which.updater, " keeps ", rule.history.size(), " arrays");
    store_->lay_out(&rule);
    DLHOST_TRY(store_->allocate(&rule));
    const auto count = static_cast<std::size_t>(which.contributions);
    std::vector<float*> history;
    for (const auto& slot : param->history) history.push_back(reinterpret_cast<float*>(slot.data()));
    DLHOST_ASSIGN(update_,
                  param::SliceUpdate::prepare(*store_, *param, elements, {history}, count, *updater_, rule, {}));
    gradients_.assign(count, std::vector<float>(elements, 0.001F));
    for (const auto& gradient : gradients_) pointers_.push_back(gradient.data());
    value_ = reinterpret_cast<float*>(param->value.data());
    return {};
  }
  Status run(std::uint64_t count) {
    return update_->run({.from = value_, .to = value_, .gradients = pointers_, .count = count, .rate = 0.01}, {});
  }

 private:
  static Table options(const Case& which) {
    Table options;
    if (std::string_view(which.updater) == "sgd") options.entries.emplace_back("momentum", Value{0.9});
    return options;
  }

  env::RealHost host_{LogLevel::warning};
  plugin::Registry registry_{plugin::entries_of(plugin::settings_of_process({})), host_};
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<param::Store> store_;
  std::unique_ptr<Updater> updater_;
  std::unique_ptr<param::SliceUpdate> update_;
  std::vector<std::vector<float>> gradients_;
  std::vector<const float*> pointers_;
  float* value_ = nullptr;
};

void update(benchmark::State& state, const Case& which) {
  set_parallel_threads(static_cast<int>(state.range(0)));
  Update made;
  if (Status status = made.prepare(which); !status.ok()) return state.SkipWithError(status.message().c_str());
  std::uint64_t count = 0;
  for (auto _ : state)
    if (Status status = made.run(++count); !status.ok()) return state.SkipWithError(status.message().c_str());
  count_bytes(state, which);
}

} // namespace
} // namespace dlhost

int main(int count, char** words) {
  using namespace dlhost;
  for (const Case& which : cases) {
    const std::string name = fmt::format("{}/{} gradients", which.updater, which.contributions);
    const auto add = [&](const char* kind, void (*run)(benchmark::State&, const Case&)) {
      benchmark::RegisterBenchmark(fmt::format("{}/{}", kind, name).c_str(), run, which)
          ->Arg(1)
          ->Arg(2)
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
    };
    add("memory", memory);
    add("update", update);
  }
  benchmark::Initialize(&count, words);
  benchmark::RunSpecifiedBenchmarks();
}
