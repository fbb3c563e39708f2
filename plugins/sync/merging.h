// A sync of equal neighbours: they exchange their differences along a topology, and the common value moves by the mean
// or the sum; or they exchange gradients.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <dlhost/sync.h>

namespace dlhost::plugins {

struct Merging {
  Sync::Traits::Of of = Sync::Traits::Of::learned;
  std::int64_t every = 1;
  bool sum = false;
};

// `more`: further choices of `of`, besides params and gradients.
template <class Options>
SchemaOf<Options> merging_options(SchemaOf<Options> schema,
                                  std::vector<std::pair<std::string, Sync::Traits::Of>> more = {},
                                  const std::string& says = "") {
  using Of = Sync::Traits::Of;
  Of Options::*const of = &Merging::of; // converted to the derived class for the schema
  more.insert(more.begin(), {{"params", Of::learned}, {"gradients", Of::gradients}});
  std::int64_t Options::*const every = &Merging::every;
  bool Options::*const sum = &Merging::sum;
  return std::move(
      schema
          .choice("of", of, std::move(more),
                  concat("the data that is exchanged: changes of params; or gradients, before each update, so that all "
                         "groups make the same update of their sum",
                         says))
          .option("every", every, "updates of a slice from one exchange of params to the next", at_least(1))
          .option(
              "sum", sum,
              "params move by the sum of the groups' changes, not by the mean: as if all groups had made each update"));
}

inline Sync::Traits traits_of(const Merging& options) {
  return {.of = options.of, .averages = !options.sum, .every = static_cast<std::uint32_t>(options.every)};
}

// `Part`: one rank's state in the exchanges.
template <class Part> class MergingSync : public Sync {
 public:
  using Options = Merging;
  explicit MergingSync(Options options) : options_(options) {}

  Traits traits() const override { return traits_of(options_); }
  std::unique_ptr<Exchange> join(const Ranks& ranks, std::int64_t elements) const override {
    return std::make_unique<Part>(ranks, elements);
  }

 protected:
  static Schema merging_schema(std::string summary) { return merging_options(SchemaOf<Options>(std::move(summary))); }

 private:
  Options options_;
};

} // namespace dlhost::plugins
