#include <dlhost/plugin.h>

#include "moments.h"

namespace dlhost::plugins {

// Dozat 2016, with a constant momentum: the corrected mean looks one step ahead,
//   beta1 m' / (1 - beta1^(t + 1)) + (1 - beta1) g / (1 - beta1^t).
class Nadam final : public MomentUpdater {
 public:
  static constexpr std::string_view name = "nadam";
  static Schema schema() { return decayed(with_moments(SchemaOf<Options>("Adam with Nesterov's momentum."))); }
  explicit Nadam(Options options) : MomentUpdater(options) {}

 protected:
  Term direction(Terms& terms, Term mean, Term gradient, Term root) const override {
    return (options_.beta1 * mean * terms.own(2) + (1 - options_.beta1) * gradient * terms.own(0)) / root;
  }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Nadam);
