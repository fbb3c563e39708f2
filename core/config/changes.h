// The keys in which jobs differ, each job as to_toml() writes it: a run that is resumed by another job lists them, and
// runs that are compared are told apart by them.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace dlhost::config {

// "updater.momentum = 0.9 (was 0.5)", in the order of the later one; what it has no more comes last.
std::vector<std::string> changes(const std::string& before, const std::string& after);

// For each job what it has otherwise than the others: "rate = 0.1, units = 64". Of a key its last word, where that is
// no other's. Where a run lies and what it is called are left out.
std::vector<std::string> distinctions(std::span<const std::string> jobs);

} // namespace dlhost::config
