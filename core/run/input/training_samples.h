// Which samples a worker of a job trains on: what its feeders and the audit of a run must agree on.
#pragma once

#include "config/job.h"
#include "run/input/sampling.h"
#include "run/worker/place.h"

namespace dlhost::run {

// `stream`: of the job's first source. All sources draw the same order, so that their samples stay together.
SamplingSpec training_samples(const config::Job&, const Place&, std::uint32_t stream);

} // namespace dlhost::run
