// What inspect shows, as JSON: programs read it as it is, core/cli makes text of it.
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
