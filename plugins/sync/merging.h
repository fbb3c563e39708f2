// A sync of equal neighbours: they exchange along a topology, and the common value moves by the mean or the sum.
#pragma once

#include <dlhost/sync.h>

namespace dlhost::plugins {

struct Merging {
  std::int64_t every = 1;
  bool sum = false;
};

// `Part`: one rank's part in the exchanges.
template <class Part> class MergingSync : public Sync {
 public:
  using Options = Merging;
  explicit MergingSync(Options options) : options_(options) {}

  Traits traits() const override {
    return {.averages = !options_.sum, .every = static_cast<std::uint32_t>(options_.every)};
  }
  std::unique_ptr<Exchange> join(std::uint32_t rank, std::uint32_t count, std::int64_t elements) const override {
    return std::make_unique<Part>(rank, count, elements);
  }

 protected:
  static Schema merging_schema(std::string summary) {
    return std::move(
        SchemaOf<Options>(std::move(summary))
            .option("every", &Options::every, "updates of a slice from one exchange to the next", at_least(1))
            .option("sum", &Options::sum,
                    "params move by all that the groups learned, instead of by the mean of it: as if each update had "
                    "been made by all"));
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins
