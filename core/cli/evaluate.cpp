// dlhost eval: the metrics of a checkpoint.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/opened_run.h"
#include "cli/run/phase.h"
#include "env/json_text.h"
#include "run/session/evaluation.h"

namespace dlhost::cli {
namespace {

struct EvaluateOptions {
  RunChoice choice;
  std::string phase = "test";
  bool json = false;
};

Status evaluate(Context& context, const EvaluateOptions& options) {
  DLHOST_ASSIGN(auto opened, open_run(context, options.choice));
  const Phase phase = phase_named(options.phase);
  run::Session& session = *opened->session;
  if (session.samples(phase) == 0) return no_samples(phase);
  DLHOST_ASSIGN([[maybe_unused]] auto* program, session.evaluator(phase));
  DLHOST_TRY(param::read_checkpoint(opened->checkpoint, session.store(), nullptr));
  DLHOST_ASSIGN(const auto evaluation, run::evaluate(session, phase));
  const double rate = evaluation.seconds > 0 ? static_cast<double>(evaluation.samples) / evaluation.seconds : 0;
  if (options.json) {
    nlohmann::json json{{"checkpoint", opened->checkpoint.folder},
                        {"phase", options.phase},
                        {"samples", evaluation.samples},
                        {"items_per_second", rate}};
    for (const auto& [name, value] : evaluation.metrics) json["metrics"][name] = value;
    for (const auto& table : evaluation.tables) {
      const auto scores = record::class_scores(table);
      json["tables"][table.name] = {
          {"counts", record::table_json(table)}, {"precision", scores.precision}, {"recall", scores.recall}};
    }
    fmt::print("{}\n", env::json_text(json, 2));
    return {};
  }
  fmt::print("{}, step {}: {} samples of {}, {:.0f} items/s\n", opened->checkpoint.folder,
             run::Checkpoints::step_of(opened->checkpoint), evaluation.samples, options.phase, rate);
  for (const auto& [name, value] : evaluation.metrics) fmt::print("  {:<20} {:.6g}\n", name, value);
  for (const auto& table : evaluation.tables) fmt::print("{}", record::table_text(table));
  return {};
}

} // namespace

void add_evaluate(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("eval", "measure a checkpoint on the test, validation or training samples");
  auto options = std::make_shared<EvaluateOptions>();
  add_run_choice(*command, options->choice);
  add_phase(*command, options->phase);
  command->add_flag("--json", options->json, "print JSON, for programs");
  command->footer("Of a run's folder, the best checkpoint is taken, or without\n"
                  "validations the newest whole one.\n\n"
                  "Example:\n"
                  "  dlhost eval runs/digits-...");
  command->callback([&context, options] {
    if (Status status = evaluate(context, *options); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
