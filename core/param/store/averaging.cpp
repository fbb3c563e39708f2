#include "param/store/averaging.h"

#include <algorithm>

namespace dlhost::param {

Updater::Rule Averaging::rule() const {
  Rule rule = updater_->rule();
  const Expression update = std::exchange(rule.apply, {});
  std::vector<Term> read;
  const std::size_t inputs = 2 + rule.history.size(); // value, gradient, histories
  for (std::size_t input = 0; input < inputs; ++input)
    read.push_back(rule.apply.input(static_cast<std::uint16_t>(input)));
  const auto made = update.inlined(rule.apply, read);
  for (const Term& result : made) rule.apply.result(result);
  const Term average = rule.apply.input(static_cast<std::uint16_t>(inputs));
  const Term kept = rule.apply.scalar(static_cast<std::uint16_t>(first_own + rule.own_scalars));
  rule.apply.result(made[0] + kept * (average - made[0]));
  rule.history.push_back({std::string(slot)});
  ++rule.own_scalars;
  return rule;
}

void Averaging::scalars(const When& when, std::span<const double> sums, std::span<float> own) const {
  updater_->scalars(when, sums, own.first(own.size() - 1));
  const double mean = static_cast<double>(when.update - 1) / static_cast<double>(when.update);
  own.back() = static_cast<float>(std::min(share_, mean));
}

} // namespace dlhost::param
