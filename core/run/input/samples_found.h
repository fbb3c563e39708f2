// The samples that a job has, so that people can compare them with what they intended.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/session/session.h"

namespace dlhost::run {

struct SamplesFound {
  Phase phase = Phase::train;
  std::int64_t count = 0;
  std::vector<std::int64_t> of_class; // by class number; empty: the source does not know classes without reading
  std::int64_t left_over = 0;         // samples of each epoch that no step takes
};

// One entry for each phase that has samples.
Result<std::vector<SamplesFound>> samples_found(const Session&);
std::vector<std::string> class_names(const Session&);

// Example: "train 60000 (10 classes of 5421 to 6742; 32 left over in each epoch)". One line for each phase; lines after
// the first are indented by `indent` spaces.
std::string to_string(const std::vector<SamplesFound>&, std::size_t indent);
// Likely mistakes, a sentence each: a class without samples, many samples that each epoch leaves out.
std::vector<std::string> remarks(const std::vector<SamplesFound>&, const std::vector<std::string>& class_names);

} // namespace dlhost::run
