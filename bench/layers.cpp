// dlhost bench layers: layers as a training step calls them, out of their plugins: forward and backward of each in its
// usual shape, and what a call across the plugin boundary costs beside what is computed.
//
//   DLHOST_PLUGIN_PATH=build/plugins build/bench/layers
#include <filesystem>
#include <unistd.h>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "config/load.h"
#include "env/real_host.h"
#include "plugin/registry.h"
#include "run/input/feeds.h"
#include "run/session/session.h"

namespace dlhost {
namespace {

class Bench : public env::RealHost {
 public:
  Bench() {
    set_maker([this](Kind kind, const Part& part) { return registry_.make(kind, part.type, part.options); });
  }
  plugin::Registry& registry() { return registry_; }

 private:
  // The one that is called lies beside this program.
  plugin::Registry registry_{
      plugin::entries_of(plugin::settings_of_process({plugin::settings_of_process({}).program_folder})), *this};
};

// A net whose layers stand between a synthetic source and a loss, and one batch for it.
class Net {
 public:
  static Result<std::unique_ptr<Net>> make(const std::string& text) {
    std::unique_ptr<Net> net(new Net);
    const std::string path =
        fmt::format("{}/dlhost-bench-{}.toml", std::filesystem::temp_directory_path().string(), ::getpid());
    DLHOST_TRY(host().disk().write_text(path, text));
    auto job = config::load(host().disk(), path, {}, host().registry());
    DLHOST_TRY(host().disk().remove(path));
    DLHOST_TRY(job.status());
    net->job_ = std::make_unique<config::Job>(*std::move(job));
    DLHOST_ASSIGN(net->session_, run::Session::open(host(), host().registry(), *net->job_));
    DLHOST_ASSIGN(net->program_, net->session_->trainer());
    DLHOST_ASSIGN(net->feeds_, run::Feeds::make(*net->session_, *net->program_, Phase::train, net->job_->train.batch));
    DLHOST_ASSIGN(net->batch_, net->feeds_->next());
    return net;
  }
  Status step() {
    return program_->run(*batch_, {.phase = Phase::train, .step = steps_++, .global_batch = job_->train.batch});
  }
  program::Program& program() { return *program_; }
  static Bench& host() {
    static Bench one;
    return one;
  }

 private:
  Net() = default;
  std::unique_ptr<config::Job> job_;
  std::unique_ptr<run::Session> session_;
  program::Program* program_ = nullptr;
  std::unique_ptr<run::Feeds> feeds_;
  const program::BatchView* batch_ = nullptr;
  std::uint64_t steps_ = 0;
};

// Layers that compute nothing in a chain, less the same net without them: forward and backward are a call each.
void call_of_a_plugin(benchmark::State& state) {
  const auto job = [](std::int64_t count) {
    std::string text = "name = \"calls\"\ntrain.batch = 1\nlayer = [\n"
                       "{ name = \"data\", type = \"synthetic\", shape = [1], classes = 0, train = 1 },\n"
                       "{ name = \"first\", type = \"dense\", src = \"data\", units = 1 },\n";
    std::string before = "first";
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string name = fmt::format("n{}", i);
      text += "{ name = \"" + name + "\", type = \"nothing\", src = \"" + before + "\" },\n";
      before = name;
    }
    return text + "{ name = \"loss\", type = \"euclidean_loss\", src = [\"" + before + "\", \"data\"] }]\n";
  };
  const auto with = Net::make(job(state.range(0))), without = Net::make(job(0));
  for (const auto* net : {&with, &without})
    if (!net->ok()) return state.SkipWithError(net->status().message().c_str());
  const auto seconds = [](Net& net) {
    const Nanoseconds start = Net::host().clock().now();
    constexpr int steps = 100;
    for (int i = 0; i < steps; ++i) net.step().ignore("what it computes is of no use");
    return static_cast<double>(Net::host().clock().now() - start) * 1e-9 / steps;
  };
  for (auto _ : state)
    state.SetIterationTime((seconds(**with) - seconds(**without)) / (2 * static_cast<double>(state.range(0))));
}

struct Case {
  const char* name;
  const char* shape; // of a sample
  int batch;
  const char* layer; // its type and options
};

// Of each layer, as the program's own profile has it: the median step would hide which direction takes long.
void layer(benchmark::State& state, const Case& which) {
  const std::string text =
      std::string("name = \"layer\"\ntrain.batch = ") + std::to_string(which.batch) +
      "\nlayer = [\n{ name = \"data\", type = \"synthetic\", classes = 0, train = 1024, shape = " + which.shape +
      " },\n{ name = \"first\", type = \"convolution\", src = \"data\", filters = 64, kernel = 1 },\n"
      "{ name = \"measured\", src = \"first\", type = " +
      which.layer +
      " },\n{ name = \"out\", type = \"dense\", src = \"measured\", units = 1 },\n"
      "{ name = \"target\", type = \"dense\", src = \"data\", units = 1, frozen = true },\n"
      "{ name = \"loss\", type = \"euclidean_loss\", src = [\"out\", \"target\"] }]\n";
  const auto net = Net::make(text);
  if (!net.ok()) return state.SkipWithError(net.status().message().c_str());
  (*net)->step().ignore("warms up");
  for (auto _ : state) {
    (*net)->program().measure(&Net::host().clock());
    if (const Status status = (*net)->step(); !status.ok()) return state.SkipWithError(status.message().c_str());
    double forward = 0, backward = 0;
    for (const auto& timing : (*net)->program().timings())
      if (timing.what == "measured")
        (std::string_view(timing.direction) == "forward" ? forward : backward) += timing.seconds;
    state.SetIterationTime(forward + backward);
    state.counters["forward_ms"] += benchmark::Counter(forward * 1e3, benchmark::Counter::kAvgIterations);
    state.counters["backward_ms"] += benchmark::Counter(backward * 1e3, benchmark::Counter::kAvgIterations);
  }
}

constexpr Case cases[] = {
    {"convolution 3x3", "[64, 56, 56]", 16, "\"convolution\", filters = 64, kernel = 3, pad = 1"},
    {"convolution 1x1", "[64, 56, 56]", 16, "\"convolution\", filters = 256, kernel = 1"},
    {"deconvolution 4x4", "[64, 28, 28]", 16, "\"deconvolution\", filters = 64, kernel = 4, stride = 2, pad = 1"},
    {"dense", "[64, 7, 7]", 64, "\"dense\", units = 4096"},
    {"max pooling 3x3", "[64, 56, 56]", 16, "\"pooling\", kernel = 3, stride = 2, pad = 1"},
    {"average pooling", "[64, 56, 56]", 16, "\"pooling\", method = \"average\", global = true"},
    {"batch_norm", "[64, 56, 56]", 16, "\"batch_norm\""},
    {"layer_norm", "[64, 28, 28]", 16, "\"layer_norm\""},
    {"group_norm", "[64, 56, 56]", 16, "\"group_norm\", groups = 32"},
    {"rms_norm", "[64, 28, 28]", 16, "\"rms_norm\""},
    {"lrn across", "[64, 28, 28]", 64, "\"lrn\""},
    {"lrn within", "[64, 28, 28]", 64, "\"lrn\", region = \"within\", size = 3"},
    {"relu", "[64, 56, 56]", 16, "\"relu\""},
    {"tanh", "[64, 56, 56]", 16, "\"tanh\""},
    {"gelu", "[64, 56, 56]", 16, "\"gelu\""},
    {"softmax", "[64, 28, 28]", 16, "\"softmax\""},
    {"dropout", "[64, 56, 56]", 16, "\"dropout\""},
    {"transpose", "[64, 56, 56]", 16, "\"transpose\", order = [2, 3, 1]"},
};

BENCHMARK(call_of_a_plugin)->Arg(1000)->Iterations(50)->UseManualTime()->Unit(benchmark::kNanosecond);

} // namespace
} // namespace dlhost

int main(int argc, char** argv) {
  for (const auto& which : dlhost::cases)
    benchmark::RegisterBenchmark(which.name, [&](benchmark::State& state) { dlhost::layer(state, which); })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
