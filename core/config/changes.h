// The keys in which jobs differ, each job as to_toml() writes it: listed when a run is resumed with another job, and to
// tell compared runs apart.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace dlhost::config {

// "updater.momentum = 0.9 (was 0.5)", in the order of `after`; keys that it lacks come last.
std::vector<std::string> changes(const std::string& before, const std::string& after);

// For each job its values that differ from the others': "rate = 0.1, units = 64". A key's last word alone if it is
// unique. Leaves out a run's folder and name.
std::vector<std::string> distinctions(std::span<const std::string> jobs);

} // namespace dlhost::config
