#include "run/attainable.h"

#include <algorithm>
#include <cmath>

#include <dlhost/nearest.h>

#include "config/problems.h"
#include "run/training_samples.h"

namespace dlhost::run {
namespace {

void check_samples(Session& session, config::Problems& problems) {
  const config::Job& job = session.job();
  const auto& source = session.sources()[0];
  const std::int64_t samples = session.samples(Phase::train);
  if (samples == 0)
    return problems.add(job.layer(source.name)->where, "source '", source.name,
                        "' has no training samples; give it a `train` file");
  const auto seat = training_samples(job, Place::at(job, 0, false), source.stream);
  if (const auto sampling = Sampling::make(seat, samples); !sampling.ok())
    problems.add(job.place("train.batch"), "source '", source.name, "': ", sampling.status().message());
}

Status check_best(Session& session, config::Problems& problems) {
  const std::string& best = session.job().checkpoint.best;
  DLHOST_ASSIGN(const auto known, session.metrics(Phase::validate));
  if (std::ranges::find(known, best) == known.end())
    problems.add(session.job().place("checkpoint.best"), "checkpoint.best: unknown metric '", best, "'; ",
                 suggestion(best, known));
  return {};
}

} // namespace

Status check_attainable(Session& session) {
  const config::Job& job = session.job();
  const bool has_validation = session.samples(Phase::validate) > 0;
  const bool validates = has_validation && !job.validate.every.never();
  const bool tests = session.samples(Phase::test) > 0 && !job.test.every.never();
  const bool named = job.checkpoint.best != "auto" && job.checkpoint.best != "none";
  config::Problems problems;
  check_samples(session, problems);
  const auto looks_at_validations = [&](const char* key) {
    problems.add(job.place(key), key, " looks at validations, but ",
                 has_validation
                     ? "validate.every is {}, which is never"
                     : "there are no validation samples: give the source some (`dlhost inspect TYPE` says how)");
  };
  if (!validates && job.train.stop.patience > 0) looks_at_validations("train.stop.patience");
  if (!validates && named) looks_at_validations("checkpoint.best");
  if (std::isfinite(job.train.stop.accuracy) && !validates && !(tests && !has_validation))
    problems.add(job.place("train.stop.accuracy"),
                 "train.stop.accuracy is looked at when validation samples are evaluated, or test samples when there "
                 "are no others, but none are while it trains: set validate.every, or test.every");
  if (validates && named) DLHOST_TRY(check_best(session, problems));
  return problems.status();
}

} // namespace dlhost::run
