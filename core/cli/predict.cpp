// dlhost predict: the features of any layer, sample by sample.
#include <algorithm>

#include <fmt/format.h>

#include <dlhost/npy.h>

#include "cli/opened.h"
#include "cli/phase.h"
#include "run/evaluation.h"

namespace dlhost::cli {
namespace {

struct PredictOptions {
  RunChoice choice;
  std::string output, file = "predictions.csv", phase = "test";
};

// Losses, measures and tables are of a batch; what a source gives is there already.
bool is_of_samples(const net::Node& node, std::size_t port) {
  return !node.source && std::ranges::find(node.setup.metrics, port, &MetricSpec::output) == node.setup.metrics.end();
}

std::string name_of(const net::Graph& graph, const net::Edge& edge) {
  const net::Node& node = graph.nodes()[edge.node];
  return concat(node.name, ":", node.setup.outputs[edge.output].name);
}

// All that have a row for each sample.
std::vector<net::Edge> outputs_of(const net::Graph& graph) {
  std::vector<net::Edge> found;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n)
    for (std::size_t o = 0; o < graph.nodes()[n].setup.outputs.size(); ++o)
      if (is_of_samples(graph.nodes()[n], o)) found.push_back({n, o});
  return found;
}

// By its whole name, or by its layer's, which stands for the first.
Result<net::Edge> find_output(const net::Graph& graph, const std::string& name) {
  std::string known;
  for (const net::Edge& edge : outputs_of(graph)) {
    const std::string whole = name_of(graph, edge);
    if (name == whole || name == graph.nodes()[edge.node].name) return edge;
    known += concat(known.empty() ? "" : ", ", whole);
  }
  return Status::not_found("the net has no output '", name, "' with a row for each sample; it has: ", known);
}

// Without --output: the probabilities of a softmax loss, else what the loss reads first.
Result<net::Edge> default_output(const net::Graph& graph) {
  const auto all = outputs_of(graph);
  for (const net::Edge& edge : all)
    if (name_of(graph, edge).ends_with(":probabilities")) return edge;
  for (const auto& node : graph.nodes())
    if (node.setup.is_loss && !graph.nodes()[node.inputs.at(0).node].source) return node.inputs[0];
  if (all.empty()) return Status::not_found("the net has no output with a row for each sample");
  return all.back();
}

class Sink {
 public:
  Sink(Disk& disk, std::string path) : disk_(disk), path_(std::move(path)), npy_(path_.ends_with(".npy")) {}
  void add(std::span<const float> values, std::size_t width) {
    width_ = width;
    rows_ += values.size() / width;
    if (npy_) {
      values_.insert(values_.end(), values.begin(), values.end());
      return;
    }
    for (std::size_t i = 0; i < values.size(); ++i)
      text_ += fmt::format("{}{}", values[i], (i + 1) % width == 0 ? '\n' : ',');
  }
  Status finish(const Shape& sample) {
    if (!npy_) return disk_.write_text(path_, text_);
    std::vector<std::int64_t> shape{static_cast<std::int64_t>(rows_)};
    shape.insert(shape.end(), sample.begin() + 1, sample.end());
    std::string bytes = npy_header(DType::f32, shape);
    bytes.append(reinterpret_cast<const char*>(values_.data()), values_.size() * sizeof(float));
    return disk_.write_text(path_, bytes);
  }
  std::size_t rows() const { return rows_; }

 private:
  Disk& disk_;
  std::string path_;
  bool npy_;
  std::string text_;
  std::vector<float> values_;
  std::size_t rows_ = 0, width_ = 0;
};

Status predict(Context& context, const PredictOptions& options) {
  DLHOST_ASSIGN(auto opened, open_run(context, options.choice));
  run::Session& session = *opened->session;
  const Phase phase = phase_named(options.phase);
  if (session.samples(phase) == 0) return no_samples(phase);
  DLHOST_ASSIGN(auto* program, session.evaluator(phase));
  DLHOST_ASSIGN(const net::Edge output, options.output.empty() ? default_output(program->graph())
                                                               : find_output(program->graph(), options.output));
  const std::string name = name_of(program->graph(), output);
  const std::vector<std::string> kept{name};
  DLHOST_ASSIGN(program, session.evaluator(phase, kept));
  DLHOST_TRY(param::read_checkpoint(opened->checkpoint, session.store(), nullptr));
  Sink sink(context.host.disk(), options.file);
  DLHOST_ASSIGN(const auto evaluation,
                run::evaluate(session, phase, {}, [&](program::Program& at, const program::BatchView& batch) -> Status {
                  DLHOST_ASSIGN(const auto values, at.read_output(output.node, output.output));
                  const auto width = values.size() / static_cast<std::size_t>(session.batch(phase));
                  sink.add(std::span(values).first(width * static_cast<std::size_t>(batch.valid)), width);
                  return {};
                }));
  const Shape shape = program->desc_of(output.node, output.output).shape;
  DLHOST_TRY(sink.finish(shape));
  fmt::print("{}: {} rows of {}, in the order of the {} samples\n", options.file, evaluation.samples, name,
             options.phase);
  return {};
}

} // namespace

void add_predict(CLI::App& app, Context& context) {
  auto* command =
      app.add_subcommand("predict", "write what a layer makes of each sample: class probabilities, or any features");
  auto options = std::make_shared<PredictOptions>();
  add_run_choice(*command, options->choice);
  command->add_option("--output", options->output, "whose features; left out: the class probabilities")
      ->type_name("LAYER[:OUTPUT]");
  command->add_option("-o,--file", options->file, "a .csv or .npy file")->type_name("FILE")->capture_default_str();
  add_phase(*command, options->phase);
  command->footer(
      "One row a sample, in the order of the data. Of a run's folder, the best checkpoint is taken, or without\n"
      "validations the newest whole one.\n\n"
      "Examples:\n"
      "  dlhost predict runs/digits-...\n"
      "  dlhost predict runs/digits-... --output hidden -o features.npy");
  command->callback([&context, options] {
    if (Status status = predict(context, *options); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
