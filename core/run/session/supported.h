// What a job may ask for by the language of job files, and this version cannot do yet: refused, never passed over.
#pragma once

#include "config/job.h"
#include "config/problems.h"

namespace dlhost::run {

// Whether some of its layers do, so that gradients are scaled.
bool computes_in_f16(const config::Job&);

void check_supported(const config::Job&, config::Problems&);

} // namespace dlhost::run
