#include <algorithm>

#include <dlhost/plugin.h>

#include "labels.h"

namespace dlhost::plugins {

class Confusion final : public ByLabels {
 public:
  static constexpr std::string_view name = "confusion";
  struct Options {
    std::int64_t ignored = -1;
  };
  static Schema schema() {
    return SchemaOf<Options>("How often each class (row) was taken for each (column) by the highest score of axis 1. "
                             "src = [scores, labels].")
        .option("ignore_label", &Options::ignored, "samples and places with this label do not count");
  }
  explicit Confusion(Options options) : options_(options) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_scores(s));
    const std::int64_t classes = s.input(0)[1];
    return declare(s, "confusion", {classes, classes}, {.name = "confusion", .table = true});
  }

  void compute_feature(const Pass& pass, Frame& f) const override {
    auto* table = static_cast<float*>(f.output(0));
    std::fill_n(table, classes() * classes(), 0.0F);
    each(pass, f, options_.ignored, [&](std::int64_t label, const float* scores) {
      if (label < 0 || label >= classes()) return;
      std::int64_t best = 0;
      for (std::int64_t c = 1; c < classes(); ++c)
        if (scores[c * stride()] > scores[best * stride()]) best = c;
      ++table[label * classes() + best];
    });
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Confusion);
