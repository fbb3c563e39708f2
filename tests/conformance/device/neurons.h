// The pointwise functions that devices may know by name, and one unknown to all.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <dlhost/expression.h>

namespace dlhost::conform {

std::vector<std::pair<std::string, Pointwise>> neurons(); // relu first

} // namespace dlhost::conform
