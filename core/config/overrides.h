// Changes of a job by the command line: --set layer.fc1.units=100. Applied to the document first, then to the expanded
// layers for layers that come from blocks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/build.h"
#include "config/problems.h"

namespace dlhost::config {

class Overrides {
 public:
  // `said`: receives a line for each renamed key.
  Overrides(std::span<const std::string> texts, Problems&, std::vector<std::string>& said);

  void apply(Table& document);
  // Applies the rest, which name layers that the document does not have. An override that still fits nothing is a
  // problem.
  void apply(Layers&);

 private:
  struct Override {
    std::string path; // "layer.fc1.units"
    Value value;
  };
  void set(Table&, const Override&, std::size_t from);

  Problems& problems_;
  std::vector<Override> list_;
};

} // namespace dlhost::config
