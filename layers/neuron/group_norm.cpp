#include <algorithm>

#include <dlhost/plugin.h>

#include "sample_norm.h"

namespace dlhost::plugins {

class GroupNorm final : public SampleNorm {
 public:
  static constexpr std::string_view name = "group_norm";
  struct Options {
    std::int64_t groups = 0;
    double epsilon = 1e-5;
  };
  static Schema schema() {
    return SchemaOf<Options>("Group normalisation: each sample's channels (axis 1) in groups, each group by its own "
                             "mean and variance, with a scale and a shift for each channel.")
        .required("groups", &Options::groups, at_least(1), "how many; they divide the channels")
        .option("epsilon", &Options::epsilon, "is added to the variance", above(0));
  }
  explicit GroupNorm(Options options) : options_(options) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    DLHOST_TRY(expect_rank(s, 0, 2));
    const std::int64_t channels = s.input(0)[1];
    if (channels % options_.groups != 0)
      return Status::invalid("groups is ", options_.groups, ", which does not divide the ", channels, " channels of ",
                             s.inputs[0].name, " (", to_string(s.input(0)), "): choose one that does, ",
                             nearest_divisor(channels), " for example");
    DLHOST_TRY(check_values(s, s.input(0).past(1) / options_.groups, "group",
                            "say fewer groups, so that each has two channels or more, or put the layer where its "
                            "input has several places"));
    NormSpec spec;
    spec.kind = NormSpec::Kind::group;
    spec.groups = options_.groups;
    spec.epsilon = options_.epsilon;
    ops_.setup(s, spec);
    return {};
  }

 private:
  // The largest divisor not above the requested number.
  std::int64_t nearest_divisor(std::int64_t channels) const {
    std::int64_t divisor = std::min(options_.groups, channels);
    while (channels % divisor != 0) --divisor;
    return divisor;
  }

  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::GroupNorm);
