// The samples that a worker of a job trains on. Its feeders and the audit of a run both use this.
#pragma once

#include "config/job.h"
#include "plan/place.h"
#include "run/input/sampling.h"

namespace dlhost::run {

// `stream`: of the job's first source. All sources draw the same order, so that their samples stay together.
SamplingSpec training_samples(const config::Job&, const plan::Place&, std::uint32_t stream);

} // namespace dlhost::run
