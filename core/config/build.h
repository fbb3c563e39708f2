// From tables to a Job: the step of load() that checks a document against every schema, after includes, overrides and
// blocks.
#pragma once

#include <map>
#include <string>

#include <dlhost/schema.h>

#include "config/job.h"
#include "config/problems.h"

namespace dlhost::config {

// A [[layer]] after the expansion of blocks.
struct RawLayer {
  Table table;
  Location used_at; // the use of the block that it comes from; line 0: none
};

struct Layers {
  std::vector<RawLayer> list;
  // The layer whose output is a use's output, by the name of the use.
  std::map<std::string, std::string> outputs;
  std::vector<std::string> blocks; // the names of the [[block]]s
  bool whole = true;               // false: some layers are missing because of problems
};

// `document`: without its layers and blocks. Errors are added to `problems`; the Job is then not to be used.
Job build(const Table& document, const Layers&, SchemaSource&, Problems&);

} // namespace dlhost::config
