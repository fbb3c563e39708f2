// dlhost bench codecs: each codec encodes a large gradient, and adds an encoded one to a sum, on one thread. For
// comparison, a loop adds such a gradient without a codec. Bytes are those of the gradient.
//
//   DLHOST_PLUGIN_PATH=build/plugins build/bench/codecs --benchmark_enable_random_interleaving=true
#include <benchmark/benchmark.h>

#include <dlhost/codec.h>

#include "env/real_host.h"
#include "plugin/registry.h"

namespace dlhost {
namespace {

const Shape shape{2048, 4096}; // 32 MiB
const auto elements = static_cast<std::size_t>(shape.count());
using Numbers = std::vector<float>;

Numbers gradient() {
  Random random({7, 1}, 0, 0);
  Numbers made(elements);
  for (float& v : made) v = (random.uniform() - 0.5F) * 1e-3F;
  return made;
}

// A codec and its encoding of one gradient.
class Line {
 public:
  Status open(const std::string& name) {
    DLHOST_ASSIGN(codec_, registry_.create<Codec>(name, {}));
    learned_.resize(codec_->learns(shape));
    if (codec_->traits().error_feedback) error_.resize(elements);
    return encode();
  }
  Status encode() {
    for (std::uint32_t round = 0; round < codec_->traits().rounds; ++round) {
      before_.swap(made_);
      made_.resize(codec_->bound(shape));
      Random random({11, 2}, ++turn_, round);
      DLHOST_ASSIGN(const std::size_t bytes,
                    codec_->encode({round, before_}, shape, values_, {error_, learned_}, made_, random));
      made_.resize(bytes);
    }
    return codec_->learns(shape) > 0 ? codec_->learn(before_, shape, made_, {error_, learned_}) : Status();
  }
  Status decode() { return codec_->decode_add(before_, shape, made_, 0.5F, sums_); }

 private:
  env::RealHost host_{LogLevel::warning};
  plugin::Registry registry_{plugin::entries_of(plugin::settings_of_process({})), host_};
  std::unique_ptr<Codec> codec_;
  Numbers values_ = gradient(), sums_ = Numbers(elements), error_, learned_;
  std::vector<std::byte> before_, made_;
  std::uint32_t turn_ = 0;
};

void timed(benchmark::State& state, const std::string& name, Status (Line::*once)()) {
  Line line;
  if (const Status status = line.open(name); !status.ok()) return state.SkipWithError(status.message().c_str());
  for (auto _ : state)
    if (const Status status = (line.*once)(); !status.ok()) return state.SkipWithError(status.message().c_str());
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(elements * sizeof(float)));
}

void plain_sum(benchmark::State& state) {
  const Numbers values = gradient();
  Numbers sums(elements);
  for (auto _ : state) {
    for (std::size_t i = 0; i < elements; i += 8)
      for (std::size_t k = 0; k < 8; ++k) sums[i + k] += 0.5F * values[i + k];
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(elements * sizeof(float)));
}

} // namespace
} // namespace dlhost

int main(int count, char** words) {
  using namespace dlhost;
  benchmark::RegisterBenchmark("no codec/add", plain_sum)->Unit(benchmark::kMillisecond);
  for (const std::string name :
       {"none", "bf16", "fp16", "int8", "dithering", "one_bit", "top_k", "random_k", "rows", "power_sgd"}) {
    benchmark::RegisterBenchmark((name + "/encode").c_str(), timed, name, &Line::encode)->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark((name + "/decode").c_str(), timed, name, &Line::decode)->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&count, words);
  benchmark::RunSpecifiedBenchmarks();
}
