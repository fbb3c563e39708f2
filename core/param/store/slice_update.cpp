#include "param/store/slice_update.h"

#include <algorithm>

namespace dlhost::param {

Result<std::unique_ptr<SliceUpdate>> SliceUpdate::prepare(Store& store, Param& param, std::int64_t elements,
                                                          Histories histories, std::size_t contributions,
                                                          const Updater& updater, const Updater::Rule& rule,
                                                          const UpdateSettings& settings) {
  std::unique_ptr<SliceUpdate> update(new SliceUpdate(store));
  DLHOST_ASSIGN(
      update->rule_,
      PreparedRule::prepare(store, param.declared,
                            {.updater = &updater,
                             .rule = &rule,
                             .form = {.gradients = contributions, .clip_value = settings.clip_value, .copies = {}},
                             .tensor = {DType::f32, {elements}, Format::plain()},
                             .takes_norm = settings.clip_norm != 0}));
  update->histories_ = std::move(histories);
  update->inputs_.resize(1 + contributions + rule.history.size());
  update->outputs_.resize(1 + rule.history.size());
  return update;
}

Result<double> SliceUpdate::squared_norm(const Run& run) {
  std::copy(run.gradients.begin(), run.gradients.end(), inputs_.begin() + 1);
  DLHOST_ASSIGN(const double square, rule_.squared_norm(std::span(inputs_).subspan(1, run.gradients.size())));
  const auto weight = static_cast<double>(run.weight);
  return weight * weight * square;
}

Result<std::span<const double>> SliceUpdate::partials(const Run& run) {
  if (!rule_.has_partials()) return std::span<const double>();
  set(run, {});
  return rule_.partials(inputs_);
}

void SliceUpdate::set(const Run& run, std::span<const double> sums) {
  inputs_[0] = run.from;
  outputs_[0] = run.to;
  const auto history = std::copy(run.gradients.begin(), run.gradients.end(), inputs_.begin() + 1);
  const auto here = [&](float* begin) { return begin + run.first; };
  std::ranges::transform(histories_[run.history], history, here);
  std::ranges::transform(histories_[run.new_history], outputs_.begin() + 1, here);
  rule_.set(run.count, run.rate, run.weight, sums);
}

Status SliceUpdate::run(const Run& run, std::span<const double> sums) {
  set(run, sums);
  rule_.apply(inputs_, outputs_);
  return store_.stream().wait();
}

} // namespace dlhost::param
