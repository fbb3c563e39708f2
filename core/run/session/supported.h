// Refuses jobs that ask for something that job files can express but this version cannot do.
#pragma once

#include "config/job.h"
#include "config/problems.h"

namespace dlhost::run {

// True if some layers compute in f16, so that gradients must be scaled.
bool computes_in_f16(const config::Job&);

void check_supported(const config::Job&, config::Problems&);

} // namespace dlhost::run
