#include "run/input/training_samples.h"

namespace dlhost::run {
namespace {

Last last_of(config::Last last) {
  switch (last) {
  case config::Last::drop: return Last::drop;
  case config::Last::wrap: return Last::wrap;
  case config::Last::partial: return Last::partial;
  }
  return Last::drop;
}

Share share_of(config::Data data) {
  switch (data) {
  case config::Data::shared: return Share::shared;
  case config::Data::disjoint: return Share::disjoint;
  case config::Data::bootstrap: return Share::bootstrap;
  }
  return Share::shared;
}

} // namespace

SamplingSpec training_samples(const config::Job& job, const plan::Place& place, std::uint32_t stream) {
  return {.batch = job.train.batch,
          .first_row = place.first_row,
          .rows = place.rows,
          .seed = static_cast<std::uint64_t>(job.seed),
          .stream = stream,
          .group = static_cast<int>(place.group),
          .groups = static_cast<int>(place.groups),
          .share = share_of(job.topology.data),
          .last = last_of(job.train.last),
          .shuffle = job.train.shuffle};
}

} // namespace dlhost::run
