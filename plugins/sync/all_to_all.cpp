// One round: the least latency and the most bytes.
#include <dlhost/plugin.h>

#include "all_to_all.h"
#include "merging.h"

namespace dlhost::plugins {

class AllToAll final : public MergingSync<ToAll> {
 public:
  static constexpr std::string_view name = "all_to_all";
  static Schema schema() {
    return merging_options(
        SchemaOf<Options>("Each group sends its changes to all others: one round, N (N - 1) times "
                          "a slice's bytes in all."),
        {{"contributions", Traits::Of::contributions}},
        "; or contributions, of each worker to all groups, as it makes them: encoded, as factors, or "
        "whole");
  }
  using MergingSync::MergingSync;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::AllToAll);
