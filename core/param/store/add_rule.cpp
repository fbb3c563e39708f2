#include "param/store/add_rule.h"

namespace dlhost::param {

Updater::Rule AddRule::rule() const {
  Rule rule;
  const Term value = rule.apply.input(0), sum = rule.apply.input(1);
  rule.apply.result(value + rule.apply.scalar(gradient_scale) * sum);
  return rule;
}

} // namespace dlhost::param
