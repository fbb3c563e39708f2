// What a job may ask for by the language of job files, and this version cannot do yet: refused, never passed over.
#pragma once

#include <dlhost/status.h>

#include "config/job.h"

namespace dlhost::run {

// Not ok: all of it, with the place in the job.
Status check_supported(const config::Job&);

} // namespace dlhost::run
