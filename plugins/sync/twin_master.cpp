// Two masters, each for every second group; they share the final sum.
#include <dlhost/plugin.h>

#include "hub.h"
#include "merging.h"

namespace dlhost::plugins {

class TwinMaster final : public MergingSync<Hubs<2>> {
 public:
  static constexpr std::string_view name = "twin_master";
  static Schema schema() {
    return merging_schema("Two groups are masters, each of every second other one; each adds up half "
                          "of the elements of both: four rounds, half of a star's bytes through each.");
  }
  using MergingSync::MergingSync;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::TwinMaster);
