// Checks the run's part of a checkpoint's manifest. The seal proves only that nothing was changed, and anyone can seal
// a manifest. So all values are checked before a run uses any of them.
#pragma once

#include <string>

#include <dlhost/status.h>
#include <nlohmann/json_fwd.hpp>

namespace dlhost::run {

// `run`: the manifest's object of that name. `path`: the manifest's path. Errors: Code::corrupt: a value is missing or
// impossible; the message names it.
Status check_manifest(const nlohmann::json& run, const std::string& path);

} // namespace dlhost::run
