// Once a run has begun, a step of it takes nothing from the heap, however it trains, and the process does not grow.
#include <gmock/gmock.h>

#include "env/process/usage.h"
#include "env/terminal.h"
#include "heap_watch.h"
#include "run/coordinator/recorder.h"
#include "trained.h"

namespace dlhost::test {
namespace {

// What a job for pictures is made of.
constexpr const char* job = R"(name = "steady"
seed = 5
[train]
batch = 16
threads = 2
readers = 2
last_batch = "wrap"
[checkpoint]
every = {}
[validate]
every = {}
at_end = false
[test]
at_end = false
[updater]
type = "sgd"
momentum = 0.9
weight_decay = 1e-4
clip_norm = 50
rate = { type = "cosine", base = 0.01, warmup = 5 }
[record]
every = { steps = 3 }
[[layer]]
name = "data"
type = "synthetic"
mode = "learnable"
shape = [1, 8, 8]
classes = 10
train = 100
augment = ["mirror", { type = "pad_crop", pad = 1 }]
[[layer]]
name = "conv"
type = "convolution"
src = "data"
filters = 8
kernel = 3
pad = 1
[[layer]]
name = "norm"
type = "batch_norm"
src = "conv"
[[layer]]
name = "relu"
type = "relu"
src = "norm"
[[layer]]
name = "pool"
type = "pooling"
src = "relu"
kernel = 2
stride = 2
[[layer]]
name = "hidden"
type = "dense"
src = "pool"
units = 32
[[layer]]
name = "tanh"
type = "tanh"
src = "hidden"
[[layer]]
name = "drop"
type = "dropout"
src = "tanh"
[[layer]]
name = "out"
type = "dense"
src = "drop"
units = 10
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["out", "data:label"]
[[layer]]
name = "accuracy"
type = "accuracy"
src = ["out", "data:label"]
)";

class Nobody final : public env::Terminal {
 public:
  bool interactive() override { return false; }
  int columns() override { return 80; }
  bool unicode() override { return false; }
  bool color() override { return false; }
  void write(std::string_view) override {}
};

// Of the progress: a line for people, every few seconds, is no part of a step.
class StoppedClock final : public Clock {
 public:
  Nanoseconds now() override { return 0; }
  void sleep(Nanoseconds) override {}
  double wall_seconds() override { return 0; }
};

// A way to train the same job.
struct Way {
  const char* name;
  std::vector<std::string> set;
};

std::vector<std::string> several(const char* consistency, std::vector<std::string> more = {}) {
  more.insert(more.end(), {"train.threads=1", "topology.servers_per_group=2", "topology.slice_elements=100",
                           "topology.codec_elements=100", concat("topology.consistency=", consistency)});
  return more;
}

const std::string far_ref = "train.device={ type = \"ref\", far = true }";

const std::vector<Way> ways{
    {"as it stands", {}},
    {"far", {far_ref}},
    {"bf16", {"train.dtype=bf16"}},
    {"sums over params", {"updater={ type = \"lamb\", clip_norm = 50, rate = 0.001 }"}},
    {"accumulated", {"train.algorithm={ type = \"bp\", micro_batches = 4 }"}},
    {"bf16, accumulated", {"train.dtype=bf16", "train.algorithm={ type = \"bp\", micro_batches = 4 }"}},
    {"reproducible", {"train.reproducible=true", "layer.norm.type=layer_norm"}}, // batch norm cannot
    {"strict", several("strict", {"topology.workers_per_group=2"})},
    {"strict, bf16", several("strict", {"topology.workers_per_group=2", "train.dtype=bf16"})},
    {"factors", several("strict", {"topology.workers_per_group=2", "topology.gradient_factors=on"})},
    {"factors, bf16",
     several("strict", {"topology.workers_per_group=2", "topology.gradient_factors=on", "train.dtype=bf16"})},
    {"replicas", several("strict", {"topology.workers_per_group=2", "topology.replicas=2"})},
    {"bf16 sent", several("strict", {"topology.workers_per_group=2", "topology.codec=bf16"})},
    {"int8", several("strict", {"topology.workers_per_group=2", "topology.codec=int8"})},
    {"one_bit", several("strict", {"topology.workers_per_group=2", "topology.codec=one_bit"})},
    {"top_k", several("strict", {"topology.workers_per_group=2", "topology.codec=top_k"})},
    {"power_sgd", several("strict", {"topology.workers_per_group=2", "topology.codec=power_sgd"})},
    {"bounded", several("{ type = \"bounded\", bound = 2 }", {"topology.worker_groups=2"})},
    {"backup", several("{ type = \"backup\", spares = 1 }", {"topology.worker_groups=2"})},
    {"folds", several("{ type = \"first_t\", late = \"fold\" }", {"topology.worker_groups=2"})},
    {"by_slice", several("{ type = \"first_t\", choose = \"slice\", late = \"fold\" }", {"topology.worker_groups=2"})},
    {"eventual", several("{ type = \"eventual\", fetch = 3, push = 2 }", {"topology.worker_groups=2"})},
    {"server groups in a ring",
     several("strict", {"topology.worker_groups=4", "topology.server_groups=2", "topology.sync=ring"})},
    {"server groups that gossip",
     several("eventual", {"topology.worker_groups=4", "topology.server_groups=2", "topology.sync=gossip"})},
    {"elastic", several("{ type = \"elastic\", every = 2 }", {"topology.worker_groups=2"})},
};

class SteadyTest : public Bench {
 protected:
  // Runs the job as `dlhost run` does, with its records, until `after`, which is called behind each step, says that it
  // is enough. It is told how many steps the slowest worker has made; while the heap is watched, as it last was.
  Status run(const std::string& device, std::vector<std::string> set, std::function<bool(std::uint64_t)> after) {
    struct Watched final : run::Observer {
      run::Recorder* recorder = nullptr;
      std::function<bool(std::uint64_t)> after;
      std::atomic<bool> enough{false};
      std::uint64_t others = ~std::uint64_t{0};
      Status on_step(const run::Progress& progress, program::Program& program) override {
        DLHOST_TRY(recorder->on_step(progress, program));
        enough = after(std::min(progress.step, others));
        return {};
      }
      bool asks_after_workers() override { return !is_watching_heap(); }
      Status on_workers(const run::Progress&, std::vector<record::WorkerReport> workers) override {
        others = std::ranges::min(workers, {}, &record::WorkerReport::steps).steps;
        return {};
      }
      Status on_evaluation(const run::Progress&, Phase, const run::Evaluation&) override { return {}; }
    } watched;
    DLHOST_TRY(host_.disk().write_text(folder_ / "job.toml", job));
    set.insert(set.begin(), "train.device=" + device);
    set.push_back("train.stop.steps=100000");
    DLHOST_ASSIGN(const auto loaded, config::load(host_.disk(), folder_ / "job.toml", set, *registry_));
    DLHOST_ASSIGN(auto session, run::Session::open(host_, *registry_, loaded));
    DLHOST_ASSIGN(const auto folder, record::RunFolder::make(host_, folder_.path(), loaded.name));
    DLHOST_ASSIGN(auto log, record::MetricsLog::open(host_, folder));
    Nobody nobody;
    StoppedClock stopped;
    record::Progress progress(stopped, nobody);
    run::Recorder recorder(progress, *log, loaded.record.every, {});
    watched.recorder = &recorder;
    watched.after = std::move(after);
    run::Training training(*session, watched.enough);
    DLHOST_TRY(training.prepare());
    return training.run(watched).error;
  }

  bool has(const std::string& device) { return registry_->find(Kind::device, device) != nullptr; }
};

TEST_F(SteadyTest, AStepTakesNothingFromTheHeap) {
  constexpr std::uint64_t first = 10,
                          steps = 50; // more than the epochs, the log's lines and the readers' first batches
  for (const std::string device : {"ref", "cpu"}) {
    if (!has(device)) continue;
    const bool has_bf16 = computes(device, DType::bf16);
    for (const Way& way : ways) {
      if (std::ranges::count(way.set, "train.dtype=bf16") > 0 && !has_bf16) continue;
      if (std::ranges::count(way.set, far_ref) > 0 && device != "ref") continue;
      HeapUse use;
      std::uint64_t made = 0; // while it is watched
      const Status status = run(device, way.set, [&](std::uint64_t all_made) {
        if (is_watching_heap()) {
          if (++made < steps) return false;
          use = stop_watching_heap();
          return true;
        }
        if (all_made >= first) watch_heap();
        return false;
      });
      ASSERT_TRUE(status.ok()) << device << ", " << way.name << ": " << status.message();
      ASSERT_EQ(made, steps) << device << ", " << way.name;
      EXPECT_EQ(use.ours, 0U) << device << ", " << way.name << ", in " << steps << " steps, first:\n"
                              << first_of_ours();
      std::printf("%s, %s: %llu allocations of oneDNN and libgomp in %llu steps\n", device.c_str(), way.name,
                  static_cast<unsigned long long>(use.libraries), static_cast<unsigned long long>(steps));
    }
  }
}

TEST_F(SteadyTest, TheProcessDoesNotGrow) {
  constexpr std::uint64_t first = 100, steps = 1100;
  for (const std::string device : {"ref", "cpu"}) {
    if (!has(device)) continue;
    std::uint64_t before = 0, after = 0;
    const Status status = run(device, {}, [&](std::uint64_t step) {
      if (step == first) before = env::resident_bytes();
      if (step == steps) after = env::resident_bytes();
      return step == steps;
    });
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_GT(before, 0U);
    EXPECT_LE(after, before + (256 << 10)) << device;
    std::printf("%s: %llu KiB resident after %llu steps, %llu KiB after %llu\n", device.c_str(),
                static_cast<unsigned long long>(before >> 10), static_cast<unsigned long long>(first),
                static_cast<unsigned long long>(after >> 10), static_cast<unsigned long long>(steps));
  }
}

} // namespace
} // namespace dlhost::test
