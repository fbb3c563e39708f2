// The keys in which two jobs differ, each job as to_toml() writes it: a run that is resumed by another job lists them.
#pragma once

#include <string>
#include <vector>

namespace dlhost::config {

// "updater.momentum = 0.9 (was 0.5)", in the order of the later one; what it has no more comes last.
std::vector<std::string> changes(const std::string& before, const std::string& after);

} // namespace dlhost::config
