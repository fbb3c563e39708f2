// Reads how a layer is cut: a split's name, or a table such as { axes = [0, 1], grid = [2, 2] }.
#pragma once

#include <string>

#include "config/job.h"
#include "config/problems.h"

namespace dlhost::config {

// The problems of the value; keys are those inside of it, empty for the value itself.
std::vector<Problem> read_scheme(const Value&, Scheme&);

} // namespace dlhost::config
