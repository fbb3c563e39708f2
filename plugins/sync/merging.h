// A sync of equal neighbours: along a topology they exchange what they learned, and the common value moves by the mean
// or the sum of it; or their gradients.
#pragma once

#include <dlhost/sync.h>

namespace dlhost::plugins {

struct Merging {
  bool of_gradients = false;
  std::int64_t every = 1;
  bool sum = false;
};

template <class Options> SchemaOf<Options> merging_options(SchemaOf<Options> schema) {
  bool Options::*const of_gradients = &Merging::of_gradients; // its own by inheritance, as the schema wants it
  std::int64_t Options::*const every = &Merging::every;
  bool Options::*const sum = &Merging::sum;
  return std::move(
      schema
          .choice("of", of_gradients, {{"params", false}, {"gradients", true}},
                  "what is exchanged: what params have learned; or gradients, before each update, so that all groups "
                  "make the same one of the sum of them")
          .option("every", every, "updates of a slice from one exchange of params to the next", at_least(1))
          .option("sum", sum,
                  "params move by all that the groups learned, instead of by the mean of it: as if each update had "
                  "been made by all"));
}

inline Sync::Traits traits_of(const Merging& options) {
  return {.of_gradients = options.of_gradients,
          .averages = !options.sum,
          .every = static_cast<std::uint32_t>(options.every)};
}

// `Part`: one rank's part in the exchanges.
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
