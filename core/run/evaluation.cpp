#include "run/evaluation.h"

#include "run/feeds.h"

namespace dlhost::run {

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
  evaluation.seconds = static_cast<double>(clock.now() - begin) * 1e-9;
  evaluation.metrics = means(program->metrics());
  return evaluation;
}

} // namespace dlhost::run
