// Gossip along a tree, as in Minerva: differences go from neighbour to neighbour, merged with theirs; no rank waits.
#include <dlhost/plugin.h>
#include <dlhost/sync.h>

namespace dlhost::plugins {

class Gossip final : public Sync {
 public:
  static constexpr std::string_view name = "gossip";
  struct Options {
    std::int64_t every = 1, children = 2;
  };
  static Schema schema() {
    return SchemaOf<Options>(
               "Each group sends its neighbours in a tree the changes that they lack, and no group waits: each change "
               "reaches all groups once. Not with handlers that keep all groups in step.")
        .option("every", &Options::every, "updates of a slice from one message to the next", at_least(1))
        .option("children", &Options::children, "children of a group in the tree; 1 makes a chain", at_least(1));
  }
  explicit Gossip(Options options) : options_(options) {}

  Traits traits() const override { return {.averages = false, .every = static_cast<std::uint32_t>(options_.every)}; }
  std::vector<std::uint32_t> neighbours(std::uint32_t rank, std::uint32_t count) const override {
    std::vector<std::uint32_t> all;
    if (rank > 0) all.push_back(static_cast<std::uint32_t>((rank - 1) / options_.children));
    const auto first = rank * options_.children + 1;
    for (std::int64_t child = first; child < first + options_.children && child < count; ++child)
      all.push_back(static_cast<std::uint32_t>(child));
    return all;
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Gossip);
