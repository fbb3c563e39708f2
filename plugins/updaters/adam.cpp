#include <dlhost/plugin.h>

#include "moments.h"

namespace dlhost::plugins {

// Kingma and Ba 2014: w' = w - rate c1 m' / (sqrt(c2 v') + epsilon), where c1 and c2 correct the bias.
class Adam final : public MomentUpdater {
 public:
  static constexpr std::string_view name = "adam";
  static Schema schema() {
    return decayed(with_amsgrad(
        with_moments(SchemaOf<Options>("Adam: the mean of gradients over the root of the mean of their squares."))));
  }
  explicit Adam(Options options) : MomentUpdater(options) {}

 protected:
  Term direction(Terms& terms, Term mean, Term, Term root) const override { return mean * terms.own(0) / root; }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Adam);
