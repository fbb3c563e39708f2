// What two jobs, each as to_toml() writes it, have otherwise: for who goes on with a run by another job.
#pragma once

#include <string>
#include <vector>

namespace dlhost::config {

// "updater.momentum = 0.9 (was 0.5)", in the order of the later one; what it has no more comes last.
std::vector<std::string> changes(const std::string& before, const std::string& after);

} // namespace dlhost::config
