#include "param/store/slice_update.h"

#include <algorithm>

#include "param/store/rule_op.h"

namespace dlhost::param {

Result<std::unique_ptr<SliceUpdate>> SliceUpdate::prepare(Store& store, Param& param, std::int64_t elements,
                                                          Histories histories, std::size_t contributions,
                                                          const Updater& updater, const Updater::Rule& rule,
                                                          const UpdateSettings& settings) {
  std::unique_ptr<SliceUpdate> update(new SliceUpdate(store, param, updater));
  const std::size_t slots = rule.history.size();
  update->histories_ = std::move(histories);
  const TensorDesc row{DType::f32, {elements}, Format::plain()};
  MapSpec apply{.expression = with_gradients(
                    rule.apply, {.history = slots, .gradients = contributions, .clip_value = settings.clip_value}),
                .in = std::vector<TensorDesc>(1 + contributions + slots, row),
                .out = std::vector<TensorDesc>(1 + slots, row),
                .keeps_zeros = true};
  DLHOST_ASSIGN(update->apply_, store.device().prepare(apply));
  DLHOST_TRY(update->prepare_sums(rule, settings, contributions, row));
  std::size_t scratch = 1;
  for (const Op* op : {update->apply_.get(), update->partials_.get(), update->norm_.get()})
    if (op) scratch = std::max(scratch, op->scratch_bytes);
  DLHOST_ASSIGN(update->scratch_, Memory::make(store.device(), scratch));
  update->inputs_.resize(1 + contributions + slots);
  update->outputs_.resize(1 + slots);
  update->scalars_.resize(Updater::first_own + rule.own_scalars);
  return update;
}

Status SliceUpdate::prepare_sums(const Updater::Rule& rule, const UpdateSettings& settings, std::size_t contributions,
                                 const TensorDesc& row) {
  Device& device = store_.device();
  const TensorDesc sum{DType::f32, {1}, Format::plain()};
  const std::size_t history = rule.history.size();
  partial_count_ = rule.partials.results().size();
  DLHOST_ASSIGN(sums_, Sums::make(device, store_.stream(), std::max<std::size_t>(partial_count_, 1)));
  if (partial_count_ > 0) {
    MapSpec partials{
        .expression = with_gradients(
            rule.partials, {.history = history, .gradients = contributions, .clip_value = settings.clip_value}),
        .in = std::vector<TensorDesc>(1 + contributions + history, row),
        .out = std::vector<TensorDesc>(partial_count_, sum)};
    DLHOST_ASSIGN(partials_, device.prepare(partials));
  }
  if (settings.clip_norm == 0) return {};
  MapSpec norm{
      .expression = squared_sum(contributions), .in = std::vector<TensorDesc>(contributions, row), .out = {sum}};
  DLHOST_ASSIGN(norm_, device.prepare(norm));
  return {};
}

Result<double> SliceUpdate::squared_norm(const Run& run) {
  std::copy(run.gradients.begin(), run.gradients.end(), inputs_.begin() + 1);
  const auto gradients = std::span(inputs_).subspan(1, run.gradients.size());
  norm_->execute(store_.stream(), gradients, sums_.places(1), scratch_.data(), {});
  DLHOST_ASSIGN(const auto sums, sums_.read(1));
  const auto weight = static_cast<double>(run.weight);
  return weight * weight * sums[0];
}

Result<std::span<const double>> SliceUpdate::partials(const Run& run) {
  if (!partials_) return std::span<const double>();
  set(run, {});
  partials_->execute(store_.stream(), inputs_, sums_.places(partial_count_), scratch_.data(), {.scalars = scalars_});
  return sums_.read(partial_count_);
}

void SliceUpdate::set(const Run& run, std::span<const double> sums) {
  const Declaration& declared = param_.declared;
  const double rate = run.rate * declared.rate_scale;
  inputs_[0] = run.from;
  outputs_[0] = run.to;
  const auto history = std::copy(run.gradients.begin(), run.gradients.end(), inputs_.begin() + 1);
  const auto here = [&](float* begin) { return begin + run.first; };
  std::ranges::transform(histories_[run.history], history, here);
  std::ranges::transform(histories_[run.new_history], outputs_.begin() + 1, here);
  scalars_[Updater::rate] = static_cast<float>(rate);
  scalars_[Updater::decay_scale] = static_cast<float>(declared.decay_scale);
  scalars_[Updater::gradient_scale] = run.weight;
  updater_.scalars({run.count, rate}, sums, std::span(scalars_).subspan(Updater::first_own));
}

Status SliceUpdate::run(const Run& run, std::span<const double> sums) {
  set(run, sums);
  apply_->execute(store_.stream(), inputs_, outputs_, scratch_.data(), {.scalars = scalars_});
  return store_.stream().wait();
}

} // namespace dlhost::param
