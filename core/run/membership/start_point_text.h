// The point where workers begin, as text for files and messages.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "param/table/start_point.h"

namespace dlhost::run {

nlohmann::json json_of(const param::StartPoint&);
// Throws: nlohmann::json::exception if the text is damaged.
param::StartPoint start_point_in(const nlohmann::json&);

} // namespace dlhost::run
