// What the manifest of a checkpoint says of its run. Its seal says that nothing was changed, not that it makes sense:
// whoever writes a manifest can seal it. So all that a run goes on from is looked at before any of it is used.
#pragma once

#include <string>

#include <dlhost/status.h>
#include <nlohmann/json_fwd.hpp>

namespace dlhost::run {

// `run` is the manifest's part of that name, and `path` the manifest's. Not ok (Code::corrupt): a value is missing, or
// none that a run can have; the message says which.
Status check_manifest(const nlohmann::json& run, const std::string& path);

} // namespace dlhost::run
