// Trains small jobs inside a test and hands over what came of it: losses step by step, and every param's bits.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../../computes.h"
#include "../../temporary_folder.h"
#include "config/load.h"
#include "env/real_host.h"
#include "param/store/transfer.h"
#include "plugin/registry.h"
#include "run/coordinator/training.h"
#include "run/input/feeds.h"

namespace dlhost::test {

struct Trained {
  std::vector<double> losses;                       // of each step
  std::vector<double> norms;                        // of its gradients, where they are looked at
  std::map<std::string, std::vector<float>> params; // plain
  std::vector<std::string> factored;                // those whose gradients are sent as their factors
  run::MetricValues test;
  std::map<std::pair<std::uint64_t, Phase>, run::MetricValues> evaluations; // by the step that they are of
  run::Outcome outcome;
  std::string device; // what it says of itself at the end
};

class Bench : public ::testing::Test {
 protected:
  Bench() {
    // The build's plugins are named by the environment; see tests/core/run/meson.build.
    registry_ = std::make_unique<plugin::Registry>(plugin::entries_of(plugin::settings_of_process({})), host_);
    host_.set_maker([this](Kind kind, const Part& part) { return registry_->make(kind, part.type, part.options); });
  }

  bool computes(const std::string& device, DType dtype) {
    auto made = registry_->create<Device>(device, {});
    return made.ok() && test::computes(**made, dtype);
  }

  // Runs a job to its end, or until `stop_at` steps are done, as Ctrl-C would stop it.
  Trained train(const std::string& text, const std::vector<std::string>& set = {}, std::uint64_t stop_at = 0,
                const std::string& resume = {}, const std::string& checkpoints = {}, const std::string& points = {}) {
    Trained trained;
    const std::string path = folder_ / "job.toml";
    EXPECT_TRUE(host_.disk().write_text(path, text).ok());
    auto job = config::load(host_.disk(), path, set, *registry_);
    EXPECT_TRUE(job.ok()) << job.status().message();
    if (job.ok()) {
      const Status status = run(*job, trained, stop_at, resume, checkpoints, points);
      EXPECT_TRUE(status.ok()) << status.message();
    }
    return trained;
  }

  Status run(const config::Job& job, Trained& trained, std::uint64_t stop_at, const std::string& resume,
             const std::string& checkpoints, const std::string& points = {}) {
    struct Watch final : run::Observer {
      Trained* trained = nullptr;
      std::uint64_t stop_at = 0;
      std::atomic<bool> interrupted{false};
      Status on_step(const run::Progress& progress, program::Program& program) override {
        for (const auto& metric : program.metrics())
          if (metric.is_loss) trained->losses.push_back(metric.last_sum / metric.last_count);
        if (const auto norm = program.gradient_norm()) trained->norms.push_back(*norm);
        if (stop_at != 0 && progress.step >= stop_at) interrupted = true;
        return {};
      }
      Status on_evaluation(const run::Progress& at, Phase phase, const run::Evaluation& found) override {
        trained->evaluations[{at.step, phase}] = found.metrics;
        return {};
      }
    } watch;
    watch.trained = &trained;
    watch.stop_at = stop_at;
    DLHOST_ASSIGN(auto session, run::Session::open(host_, *registry_, job));
    run::Checkpoints saved(*session, checkpoints, static_cast<std::size_t>(job.checkpoint.keep));
    run::Training training(*session, watch.interrupted);
    DLHOST_TRY(training.prepare());
    if (!resume.empty()) {
      DLHOST_ASSIGN(const auto files, run::Checkpoints::find(host_, resume));
      DLHOST_TRY(training.resume(files));
    }
    if (!checkpoints.empty()) training.keep_in(&saved);
    run::Checkpoints secured(*session, points, 1);
    if (!points.empty()) training.recover_from(&secured, false);
    run::Checkpoints tested(*session, (checkpoints.empty() ? folder_.path() : checkpoints) + "/testing", 1);
    if (job.topology.testing_group) training.test_beside(&tested);
    trained.outcome = training.run(watch);
    training.dismiss();
    DLHOST_TRY(trained.outcome.error);
    trained.test = trained.outcome.test.metrics;
    trained.device = session->device().description();
    param::Store& store = session->store();
    for (const auto& param : store.params()) {
      if (param->factors) trained.factored.push_back(param->declared.name);
      DLHOST_ASSIGN(trained.params[param->declared.name],
                    param::download(store.device(), store.stream(), param->master, param->value.data()));
    }
    return {};
  }

  // Stopped at a step at which it saves, and gone on with: it ends as if it had not been.
  void expect_resumed_alike(const std::string& text, std::vector<std::string> set, std::uint64_t at) {
    set.push_back(concat("checkpoint.every={ steps = ", at, " }"));
    const std::string stopped = folder_ / "stopped", never = folder_ / "never";
    const auto whole = train(text, set, 0, "", never);
    const auto first = train(text, set, at, "", stopped);
    const auto rest = train(text, set, 0, stopped, stopped);
    EXPECT_EQ(first.losses.size() + rest.losses.size(), whole.losses.size());
    EXPECT_EQ(rest.params, whole.params);
    EXPECT_EQ(rest.test, whole.test);
    EXPECT_FALSE(whole.test.empty());
    for (const auto& folder : {stopped, never}) EXPECT_TRUE(host_.disk().remove(folder).ok());
  }

  env::RealHost host_{LogLevel::error};
  std::unique_ptr<plugin::Registry> registry_;
  TemporaryFolder folder_;
};

// A net of dense layers on learnable synthetic data; what follows is appended.
inline std::string small_job(const std::string& device = "ref", const std::string& more = "") {
  return R"(name = "small"
seed = 3
[train]
batch = 12
threads = 1
device = ")" +
         device + R"("
stop = { steps = 40 }
[updater]
type = "sgd"
momentum = 0.9
rate = { type = "cosine", base = 0.05, warmup = 5 }
)" + more +
         R"(
[[layer]]
name = "data"
type = "synthetic"
mode = "learnable"
shape = [7]
classes = 3
train = 50
test = 20
[[layer]]
name = "fc1"
type = "dense"
src = "data"
units = 9
[[layer]]
name = "act"
type = "tanh"
src = "fc1"
[[layer]]
name = "fc2"
type = "dense"
src = "act"
units = 3
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["fc2", "data:label"]
)";
}

} // namespace dlhost::test
