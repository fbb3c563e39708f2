#include "run/session/training_net.h"

#include "plan/param_parts.h"
#include "plan/partition.h"
#include "plugin/contained.h"

namespace dlhost::run {
namespace {

// The bounds of each worker's rows in a frame. Errors: a worker's rows do not make equal frames.
Result<std::vector<std::int64_t>> bounds_in_frame(const config::Job& job, const plan::Place& place,
                                                  std::int64_t frames) {
  std::vector<std::int64_t> bounds{0, job.train.batch};
  if (place.workers > 1) bounds = plan::Place::bounds_of_rows(job);
  for (std::size_t rank = 0; rank + 1 < bounds.size(); ++rank)
    if (const std::int64_t rows = bounds[rank + 1] - bounds[rank]; rows % frames != 0)
      return Status::invalid("a batch of ", rows, " cannot be cut into ", frames, " equal micro-batches");
  for (std::int64_t& bound : bounds) bound /= frames;
  return bounds;
}

} // namespace

Result<TrainingNet> training_net(const MakeNet& make, Algorithm& algorithm, const config::Job& job,
                                 const plan::Place& place, plugin::Registry& registry, plugin::Activity& activity) {
  const std::string& name = job.train.algorithm.type;
  DLHOST_ASSIGN(const auto* actor, registry.actor(Kind::algorithm, name, name));
  TrainingNet net;
  const auto record = [&] {
    return plugin::contained(activity, actor, "train_one_batch", plugin::no_step,
                             [&] { return program::record(algorithm, name, *net.graph); });
  };
  DLHOST_ASSIGN(net.graph, make(job.train.batch));
  DLHOST_ASSIGN(net.record, record());
  const std::int64_t frames = net.record.cut ? net.record.frames : 1;
  DLHOST_ASSIGN(const auto bounds, bounds_in_frame(job, place, frames));
  if (net.record.cut) {
    DLHOST_ASSIGN(net.graph, make(bounds.back()));
    DLHOST_ASSIGN(net.record, record());
  }
  if (place.workers == 1) {
    net.part.nodes = net::whole_parts(*net.graph);
    return net;
  }
  config::Problems problems;
  auto partition = plan::Partition::of(*net.graph, job, bounds, problems);
  DLHOST_TRY(problems.status());
  net.part = {.nodes = plan::node_parts(*net.graph, partition->layers, place.rank),
              .connectors = std::move(partition->connectors),
              .params = plan::param_parts(*net.graph, partition->layers),
              .rank = place.rank};
  if (net.record.cut && (!net.part.connectors.empty() || !net.part.params.empty()))
    return Status::unsupported(
        "the algorithm cuts the batch into micro-batches, and some layers are computed by other workers than those "
        "that they read: not supported in this version; leave out partition and location, or train by bp without "
        "micro-batches");
  return net;
}

} // namespace dlhost::run
