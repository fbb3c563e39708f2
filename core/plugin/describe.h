// The contents of `inspect`, as JSON; core/cli turns it into text.
//
//   {"folders": [{"path", "origin", "exists", "problems": []}],
//    "plugins": [{"path", "folder", "name", "version", "compiler", "epoch", "problems": [], "warnings": [],
//                 "products": [{"kind", "name", "overridden_by"?, "clashes_with"?, "doc"?, "options"?: [OPTION]}]}]}
//   OPTION: {"name", "type", "doc", "required", "default"?, "lowest"?, "highest"?, "open_low"?, "open_high"?,
//   "choices"?,
//            "kind"?, "bare"?}
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <dlhost/schema.h>

#include "plugin/search.h"

namespace dlhost::plugin {

nlohmann::json describe(const Schema&);
nlohmann::json describe(const Catalogue&);
nlohmann::json describe(const Candidate&, const std::string& folder);

} // namespace dlhost::plugin
