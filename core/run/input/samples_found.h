// What samples a job was found to have, for people who compare it with what they meant to give it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/session/session.h"

namespace dlhost::run {

struct SamplesFound {
  Phase phase = Phase::train;
  std::int64_t count = 0;
  std::vector<std::int64_t> of_class; // by its number; empty: the source does not know classes without reading
  std::int64_t left_over = 0;         // of each epoch, which no step takes
};

// Of each phase that has any.
Result<std::vector<SamplesFound>> samples_found(const Session&);
std::vector<std::string> class_names(const Session&);

// "train 60000 (10 classes of 5421 to 6742; 32 left over in each epoch)", and so on, a line each, those after the first
// indented by so many spaces.
std::string to_string(const std::vector<SamplesFound>&, std::size_t indent);
// What is likely to be a mistake, a sentence each: a class without samples, many samples that each epoch leaves out.
std::vector<std::string> remarks(const std::vector<SamplesFound>&, const std::vector<std::string>& class_names);

} // namespace dlhost::run
