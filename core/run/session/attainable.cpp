#include "run/session/attainable.h"

#include <algorithm>
#include <cmath>

#include <dlhost/nearest.h>

#include "run/input/training_samples.h"

namespace dlhost::run {
namespace {

void check_samples(const Session& session, config::Problems& problems) {
  const config::Job& job = session.job();
  const auto& source = session.sources()[0];
  const std::int64_t samples = session.samples(Phase::train);
  if (samples == 0)
    return problems.add(job.layer(source.name)->where, "source '", source.name,
                        "' has no training samples; give it a `train` file");
  for (const char* key : {"train.batch", "train.last_batch", "topology"})
    if (problems.refused(key)) return;
  const auto seat = training_samples(job, plan::Place::at(job, 0), source.stream);
  if (const auto sampling = Sampling::make(seat, samples); !sampling.ok())
    problems.add(job.place("train.batch"), "source '", source.name, "': ", sampling.status().message());
}

void check_best(const config::Job& job, const net::Graph& validation, config::Problems& problems) {
  const std::string& best = job.checkpoint.best;
  std::vector<std::string> known; // without tables
  for (const auto& node : validation.nodes())
    for (const auto& metric : node.setup.metrics)
      if (!metric.table) known.push_back(node.metric_name(metric));
  if (std::ranges::find(known, best) == known.end())
    problems.add(job.place("checkpoint.best_by"), "checkpoint.best_by: unknown metric '", best, "'; ",
                 suggestion(best, known));
}

} // namespace

void check_attainable(const Session& session, const net::Graph* validation, config::Problems& problems) {
  if (session.sources().empty()) return; // the number of samples is not known
  check_samples(session, problems);
  if (problems.refused("validate.every") || problems.refused("test.every")) return;
  const config::Job& job = session.job();
  const bool has_validation = session.samples(Phase::validate) > 0;
  const bool validates = has_validation && !job.validate.every.never();
  const bool tests = session.samples(Phase::test) > 0 && !job.test.every.never();
  const bool named = job.checkpoint.best != "auto" && job.checkpoint.best != "none";
  const auto looks_at_validations = [&](const char* key) {
    problems.add(
        job.place(key), key, " looks at validations, but ",
        has_validation
            ? "validate.every is {}, which is never"
            : "there are no validation samples: name some in the source (`validate`), or take every fifth training "
              "sample (`validate_every = 5`)");
  };
  if (!validates && job.train.stop.patience > 0) looks_at_validations("train.stop.patience");
  if (!validates && named) looks_at_validations("checkpoint.best_by");
  if (std::isfinite(job.train.stop.accuracy) && !validates && !(tests && !has_validation))
    problems.add(job.place("train.stop.accuracy"),
                 "train.stop.accuracy is looked at when validation samples are evaluated, or test samples when there "
                 "are no others, but none are while it trains: set validate.every, or test.every");
  if (validates && named && validation) check_best(job, *validation, problems);
}

} // namespace dlhost::run
