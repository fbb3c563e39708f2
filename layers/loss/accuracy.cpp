#include <dlhost/plugin.h>

#include "labels.h"

namespace dlhost::plugins {

class Accuracy final : public ByLabels {
 public:
  static constexpr std::string_view name = "accuracy";
  struct Options {
    std::int64_t top = 1;
    std::int64_t ignored = -1;
  };
  static Schema schema() {
    return SchemaOf<Options>("Share of samples whose label is among the highest scores of axis 1. "
                             "src = [scores, labels].")
        .option("top", &Options::top, "how many of the highest scores count as right", at_least(1))
        .option("ignore_label", &Options::ignored, "samples and places with this label do not count");
  }
  explicit Accuracy(Options options) : options_(options) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_scores(s));
    return declare(s, "accuracy", {2},
                   {.name = options_.top == 1 ? "accuracy" : concat("top", options_.top), .better_high = true});
  }

  void compute_feature(const Pass& pass, Frame& f) const override {
    std::int64_t right = 0, counted = 0;
    each(pass, f, options_.ignored, [&](std::int64_t label, const float* scores) {
      ++counted;
      if (label >= 0 && label < classes() && is_among_top(scores, label)) ++right;
    });
    auto* total = static_cast<float*>(f.output(0));
    total[0] = static_cast<float>(right);
    total[1] = static_cast<float>(counted);
  }

 private:
  // Among equal scores the lower class comes first, so that a net with equal scores for all classes is not right by
  // chance. NaN loses to all other scores.
  bool is_among_top(const float* scores, std::int64_t label) const {
    const float own = scores[label * stride()];
    std::int64_t before = 0;
    for (std::int64_t c = 0; c < classes() && before < options_.top; ++c) {
      const float other = scores[c * stride()];
      if (c < label ? !(other < own) : c > label && !(other <= own)) ++before;
    }
    return before < options_.top;
  }

  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Accuracy);
