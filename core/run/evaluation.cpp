#include "run/evaluation.h"

#include <algorithm>

#include <dlhost/sink.h>

#include "run/feeds.h"

namespace dlhost::run {
namespace {

// Calls `what` of each sink of the program.
template <class What> Status each_sink(const program::Program& program, What what) {
  for (const auto& unit : program.units())
    if (auto* sink = dynamic_cast<Sink*>(unit.layer))
      DLHOST_TRY(what(*sink, unit.described->name).at("layer '", unit.described->name, "'"));
  return {};
}

std::string folder_of(const config::Job& job, const std::string& layer) {
  const auto found = std::ranges::find(job.layers, layer, &config::Layer::name);
  return found == job.layers.end() ? std::string() : found->folder;
}

} // namespace

MetricValues means(const std::vector<program::Metric>& metrics) {
  MetricValues values;
  for (const auto& metric : metrics) {
    const auto known = std::ranges::find(values, metric.name, [](const auto& value) { return value.first; });
    if (known == values.end()) values.emplace_back(metric.name, 0.0);
  }
  for (auto& [name, mean] : values) { // a metric may come from several frames
    double sum = 0, count = 0;
    for (const auto& metric : metrics)
      if (metric.name == name) sum += metric.sum, count += metric.count;
    mean = count > 0 ? sum / count : 0;
  }
  return values;
}

Result<Evaluation> evaluate(Session& session, Phase phase, const std::vector<std::string>& kept,
                            const OnBatch& on_batch) {
  Evaluation evaluation;
  const std::int64_t samples = session.samples(phase);
  if (samples == 0) return evaluation;
  const std::int64_t batch = session.batch(phase);
  const auto steps = static_cast<std::uint64_t>((samples + batch - 1) / batch);
  DLHOST_ASSIGN(auto* program, session.evaluator(phase, kept));
  DLHOST_ASSIGN(auto feeds, Feeds::make(session, *program, phase, batch, steps));
  program->reset_metrics();
  DLHOST_TRY(each_sink(*program, [&](Sink& sink, const std::string& name) {
    return sink.open(session.host(), folder_of(session.job(), name), samples);
  }));
  Clock& clock = session.host().clock();
  const Nanoseconds begin = clock.now();
  for (std::uint64_t step = 0; step < steps; ++step) {
    DLHOST_ASSIGN(const auto* view, feeds->next());
    DLHOST_TRY(program->run(
        *view,
        {.phase = phase, .step = step, .seed = static_cast<std::uint64_t>(session.job().seed), .global_batch = batch}));
    evaluation.samples += view->valid;
    if (on_batch) DLHOST_TRY(on_batch(*program, *view));
  }
  DLHOST_TRY(each_sink(*program, [](Sink& sink, const std::string&) { return sink.close(); }));
  evaluation.seconds = static_cast<double>(clock.now() - begin) * 1e-9;
  evaluation.metrics = means(program->metrics());
  return evaluation;
}

} // namespace dlhost::run
