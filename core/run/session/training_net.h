// The net of a training program: the net of the group's whole batch, the order that the algorithm records on it, and
// the part that this worker computes. An algorithm that cuts the batch into frames gets a net for the smaller batch.
#pragma once

#include <functional>
#include <memory>

#include "config/job.h"
#include "plan/place.h"
#include "plugin/registry.h"
#include "program/build/build.h"

namespace dlhost::run {

struct TrainingNet {
  std::unique_ptr<net::Graph> graph;
  program::Record record;
  program::GroupPart part; // without the other workers
};

// Makes the net of a batch.
using MakeNet = std::function<Result<std::unique_ptr<net::Graph>>(std::int64_t batch)>;

// Errors: those of the net, of the algorithm and of the partition, each with its place in the job.
Result<TrainingNet> training_net(const MakeNet&, Algorithm&, const config::Job&, const plan::Place&, plugin::Registry&,
                                 plugin::Activity&);

} // namespace dlhost::run
