// Keys of a job that had another name in the version before: they are taken for one version more, and told.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/build.h"

namespace dlhost::config {

// Gives the keys of a document, and of the layers in it, the names that they have now. `said`: a line for each, with
// its place.
void rename_old_keys(Table& document, std::vector<std::string>& said);
void rename_old_keys(Layers&, std::vector<std::string>& said);
// The same for a table of names (config/names.h); gives no warning.
void rename_old_names(Table& names);

// The path of an override: "train.last" is "train.last_batch" now.
std::string renamed_path(const std::string& path, std::vector<std::string>& said);

} // namespace dlhost::config
