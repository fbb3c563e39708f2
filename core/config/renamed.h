// Keys of a job that had another name in the previous version: still accepted in this one, with a warning.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/build.h"

namespace dlhost::config {

// Gives the keys of a document, or of its layers, their present names. `said`: receives a line for each, with its
// place.
void rename_old_keys(Table& document, std::vector<std::string>& said);
void rename_old_keys(Layers&, std::vector<std::string>& said);
// The same for a table of names (config/names.h); gives no warning.
void rename_old_names(Table& names);

// The present path of an override: "train.last_batch" for "train.last".
std::string renamed_path(const std::string& path, std::vector<std::string>& said);

} // namespace dlhost::config
