// dlhost run: trains the job.
#include <fmt/format.h>

#include "cli/command.h"
#include "config/load.h"
#include "env/interrupt.h"
#include "run/training.h"

namespace dlhost::cli {
namespace {

struct RunOptions {
  std::string job;
  std::vector<std::string> set;
};

std::string text_of(const run::MetricValues& metrics) {
  std::string text;
  for (const auto& [name, value] : metrics) text += fmt::format("  {} {:.4f}", name, value);
  return text;
}

class Console final : public run::Observer {
 public:
  explicit Console(Clock& clock) : clock_(clock), next_(clock.now()) {}
  Status on_step(const run::Progress& progress, program::Program& program) override {
    if (clock_.now() < next_) return {};
    next_ = clock_.now() + 1'000'000'000;
    fmt::print("step {}  epoch {:.2f}{}  {:.0f} items/s\n", progress.step, progress.epoch,
               text_of(run::means(program.metrics())),
               static_cast<double>(progress.items) / std::max(progress.seconds, 1e-9));
    program.reset_metrics();
    return {};
  }
  Status on_evaluation(const run::Progress& progress, Phase phase, const run::Evaluation& evaluation) override {
    fmt::print("step {}  {}{}\n", progress.step, phase == Phase::test ? "test" : "validation",
               text_of(evaluation.metrics));
    return {};
  }

 private:
  Clock& clock_;
  Nanoseconds next_;
};

Status run_job(Context& context, const RunOptions& options) {
  auto& registry = context.registry();
  DLHOST_ASSIGN(const auto job, config::load(context.host.disk(), options.job, options.set, registry));
  DLHOST_ASSIGN(auto session, run::Session::open(context.host, registry, job));
  Console console(context.host.clock());
  run::Training training(*session, console, env::interrupted());
  DLHOST_TRY(training.prepare());
  DLHOST_ASSIGN(const auto outcome, training.run());
  fmt::print("{}: {}\n", outcome.ending == run::Ending::finished ? "done" : "stopped", outcome.reason);
  fmt::print("  {} steps, {:.2f} epochs, {:.2f} s, {:.0f} items/s\n", outcome.progress.step, outcome.progress.epoch,
             outcome.progress.seconds, static_cast<double>(outcome.progress.items) / outcome.progress.seconds);
  if (outcome.ending == run::Ending::diverged) context.exit_code = exit_diverged;
  if (outcome.ending == run::Ending::interrupted) context.exit_code = exit_interrupted;
  return {};
}

} // namespace

void add_run(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("run", "train the job");
  auto options = std::make_shared<RunOptions>();
  command->add_option("job", options->job, "the job file")->required()->type_name("JOB.toml");
  command->add_option("--set", options->set, "change one key of the job: train.batch=32, layer.fc1.units=100")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->callback([&context, options] {
    env::catch_interrupts();
    if (Status status = run_job(context, *options); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
