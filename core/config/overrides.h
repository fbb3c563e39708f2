// What the command line changes in a job: --set layer.fc1.units=100. First worked into the document, then, for layers
// that come out of blocks, into the expanded layers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/build.h"
#include "config/problems.h"

namespace dlhost::config {

class Overrides {
 public:
  // `said`: which of their keys have another name now.
  Overrides(std::span<const std::string> texts, Problems&, std::vector<std::string>& said);

  void apply(Table& document);
  // The rest, which names layers that the document does not have; what still fits nothing is a problem.
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
