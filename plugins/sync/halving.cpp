// Halving and doubling: the fewest bytes, like a ring, in fewer rounds. Small slices go to all at once.
#include <numeric>

#include <dlhost/plugin.h>

#include "all_to_all.h"
#include "halving.h"
#include "merging.h"

namespace dlhost::plugins {

class HalvingSync final : public Sync {
 public:
  static constexpr std::string_view name = "halving";
  struct Options : Merging {
    std::int64_t direct = 65536;
  };
  static Schema schema() {
    return std::move(
        merging_options(SchemaOf<Options>("Recursive halving and doubling between partners: 2 log2 N rounds, each rank "
                                          "sends less than two times a slice's bytes."))
            .option("direct", &Options::direct,
                    "slices go to all others at once, in one round, if a rank then sends at most this many elements",
                    at_least(0)));
  }
  explicit HalvingSync(Options options) : options_(options) {}

  Traits traits() const override { return traits_of(options_); }
  std::unique_ptr<Exchange> join(const Ranks& ranks, std::int64_t elements) const override {
    if (elements * (ranks.count - 1) <= options_.direct) return std::make_unique<ToAll>(ranks, elements);
    std::vector<std::uint32_t> all(ranks.count);
    std::iota(all.begin(), all.end(), 0);
    return std::make_unique<Halving>(std::move(all), ranks.rank, elements);
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::HalvingSync);
