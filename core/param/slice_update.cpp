#include "param/slice_update.h"

#include <algorithm>

#include "param/rule_op.h"

namespace dlhost::param {

Result<std::unique_ptr<SliceUpdate>> SliceUpdate::prepare(Store& store, Param& param, const Slice& slice,
                                                          std::size_t contributions, const Updater& updater,
                                                          const Updater::Rule& rule, const UpdateSettings& settings) {
  std::unique_ptr<SliceUpdate> update(new SliceUpdate(store, param, updater));
  const std::size_t history = rule.history.size();
  const TensorDesc row{DType::f32, {slice.count}, Format::plain()};
  MapSpec apply{.expression = with_gradients(
                    rule.apply, {.history = history, .gradients = contributions, .clip_value = settings.clip_value}),
                .in = std::vector<TensorDesc>(1 + contributions + history, row),
                .out = std::vector<TensorDesc>(1 + history, row),
                .keeps_zeros = true};
  DLHOST_ASSIGN(update->apply_, store.device().prepare(apply));
  DLHOST_ASSIGN(update->scratch_, Memory::make(store.device(), update->apply_->scratch_bytes + 1));
  const auto at = [&](const Held& memory) { return reinterpret_cast<float*>(memory.data()) + slice.first; };
  update->inputs_.resize(1 + contributions);
  update->outputs_.resize(1);
  for (const auto& slot : param.history) {
    update->inputs_.push_back(at(slot));
    update->outputs_.push_back(at(slot));
  }
  update->scalars_.resize(Updater::first_own + rule.own_scalars);
  return update;
}

Status SliceUpdate::run(const Run& run) {
  const Declaration& declared = param_.declared;
  const double rate = run.rate * declared.rate_scale;
  inputs_[0] = run.from;
  outputs_[0] = run.to;
  std::ranges::copy(run.gradients, inputs_.begin() + 1);
  scalars_[Updater::rate] = static_cast<float>(rate);
  scalars_[Updater::decay_scale] = static_cast<float>(declared.decay_scale);
  scalars_[Updater::gradient_scale] = run.weight;
  updater_.scalars({run.count, rate}, {}, std::span(scalars_).subspan(Updater::first_own));
  apply_->execute(store_.stream(), inputs_, outputs_, scratch_.data(), {.scalars = scalars_});
  return store_.stream().wait();
}

} // namespace dlhost::param
