// A star: the first group sums all differences and sends the sum to all.
#include <dlhost/plugin.h>

#include "hub.h"
#include "merging.h"

namespace dlhost::plugins {

class Star final : public MergingSync<Hubs<1>> {
 public:
  static constexpr std::string_view name = "star";
  static Schema schema() {
    return merging_schema("The first group adds up the changes of all, and sends the sum to all: two rounds, all "
                          "bytes through one.");
  }
  using MergingSync::MergingSync;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Star);
