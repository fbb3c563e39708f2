// What a job may ask for by the language of job files, and this version cannot do yet: refused, never passed over.
#pragma once

#include "config/job.h"
#include "config/problems.h"

namespace dlhost::run {

void check_supported(const config::Job&, config::Problems&);

} // namespace dlhost::run
