// dlhost predict: the features of any layer, sample by sample.
#include <fmt/format.h>

#include "cli/opened_run.h"
#include "cli/predictions.h"
#include "cli/run/phase.h"
#include "cli/unlabelled.h"
#include "predict/output.h"
#include "run/session/evaluation.h"

namespace dlhost::cli {
namespace {

struct PredictOptions {
  RunChoice choice;
  std::vector<std::string> data;
  std::string layer, file = "predictions.csv", phase = "test";
};

// Probabilities of classes for a whole sample.
bool are_of_classes(const std::string& name, const Shape& shape) {
  return shape.rank() == 2 && name.ends_with(":probabilities");
}

// What the samples are, of the source that says it.
Predictions::Names names_of(const run::Session& session, Phase phase) {
  Predictions::Names names;
  for (const auto& open : session.sources()) {
    if (names.classes.empty()) names.classes = open.source->class_names();
    if (!names.sample && !open.source->sample_name(phase, 0).empty())
      names.sample = [source = open.source, phase](std::int64_t index) { return source->sample_name(phase, index); };
  }
  return names;
}

Status write_predictions(Context& context, const PredictOptions& options) {
  DLHOST_ASSIGN(const auto format, Predictions::format_of(options.file));
  if (!options.data.empty() && options.phase != "test")
    return Status::invalid("--phase ", options.phase,
                           " and --data exclude each other: what is in --data is no phase's");
  DLHOST_ASSIGN(const auto unlabelled, Unlabelled::open(context, options.data));
  const auto set = [&](const config::Job& job) { return unlabelled.overrides(context.registry(), job); };
  DLHOST_ASSIGN(auto opened, open_run(context, options.choice, set));
  run::Session& session = *opened->session;
  const Phase phase = phase_named(options.phase);
  if (session.samples(phase) == 0) return no_samples(phase);
  DLHOST_ASSIGN(auto* program, session.evaluator(phase));
  DLHOST_ASSIGN(const net::Edge output, predict::find_output(program->graph(), options.layer));
  const std::string name = predict::name_of(program->graph(), output);
  const std::vector<std::string> kept{name};
  DLHOST_ASSIGN(program, session.evaluator(phase, kept));
  Status read = param::read_checkpoint(opened->checkpoint, session.store(), nullptr);
  if (!read.ok() && !options.data.empty())
    return {read.code(),
            concat(read.message(), ". Samples in --data have to be of the form of the test's, without a label")};
  DLHOST_TRY(std::move(read));
  Shape sample;
  const Shape shape = program->desc_of(output.node, output.output).shape;
  for (std::size_t axis = 1; axis < shape.rank(); ++axis) sample.push_back(shape[axis]);
  Predictions predictions(format, sample, are_of_classes(name, shape), names_of(session, phase));
  DLHOST_ASSIGN(const auto evaluation,
                run::evaluate(session, phase, {}, [&](program::Program& at, const program::BatchView& batch) -> Status {
                  DLHOST_ASSIGN(const auto values, at.read_output(output.node, output.output));
                  predictions.add(std::span(values).first(static_cast<std::size_t>(sample.count() * batch.valid)));
                  return {};
                }));
  DLHOST_TRY(predictions.write(context.host.disk(), options.file));
  fmt::print("{}: {} rows of {}, in the order of the {} samples\n", options.file, evaluation.samples, name,
             options.data.empty() ? options.phase : "given");
  return {};
}

} // namespace

void add_predict(CLI::App& app, Context& context) {
  auto* command =
      app.add_subcommand("predict", "write what a layer makes of each sample: class probabilities, or any features");
  auto options = std::make_shared<PredictOptions>();
  add_run_choice(*command, options->choice);
  command
      ->add_option("--data", options->data,
                   "samples without labels: pictures and folders of them, or a file as the job's source reads; -: "
                   "standard input")
      ->type_name("FILE...");
  command->add_option("--layer", options->layer, "whose features; left out: the class probabilities")
      ->type_name("LAYER[:OUTPUT]");
  command->add_option("-o,--output", options->file, "a .csv, .jsonl or .npy file")
      ->type_name("FILE")
      ->capture_default_str();
  add_phase(*command, options->phase);
  command->footer("One row a sample, in the order of the data: its file or its number, its class and the probability "
                  "of each, or a\n"
                  "layer's features. Of a run's folder, the best checkpoint is taken, or without validations the "
                  "newest whole one.\n\n"
                  "Examples:\n"
                  "  dlhost predict                                    # the newest run, its test samples\n"
                  "  dlhost predict digits --data new.csv              # rows without a label\n"
                  "  dlhost predict pets --data cat.jpg holiday/ -o pets.jsonl\n"
                  "  find . -name '*.png' | dlhost predict pets --data -\n"
                  "  dlhost predict digits --layer hidden -o features.npy");
  command->callback([&context, options] {
    if (Status status = write_predictions(context, *options); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
