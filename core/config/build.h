// Tables to Job: the step of load() that checks a document, in which includes, overrides and blocks have been worked
// in, against every schema.
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
  Location used_at; // of the block that it comes from; line 0: from none
};

struct Layers {
  std::vector<RawLayer> list;
  // What the name of a block's use stands for as a source: the layer whose output is the block's.
  std::map<std::string, std::string> outputs;
  std::vector<std::string> blocks; // the names of the [[block]]s
  bool whole = true;               // false: there would be more of them, were it not for what is wrong
};

// `document` without its layers and blocks. What is wrong is told to `problems`; the Job then is not to be used.
Job build(const Table& document, const Layers&, SchemaSource&, Problems&);

} // namespace dlhost::config
