#include "param/store/update.h"

#include <algorithm>

#include "param/store/rule_op.h"

namespace dlhost::param {
namespace {

// A tensor as it lies, padding and all, as one row: an updater works element by element and makes zero of zero, so
// that padding stays what it is and no format matters.
TensorDesc flat(const Device& device, const TensorDesc& desc) {
  return {desc.dtype, {static_cast<std::int64_t>(device.bytes(desc) / size_of(desc.dtype))}, Format::plain()};
}

} // namespace

Result<std::unique_ptr<Update>> Update::prepare(Store& store, Param& param, const Updater& updater,
                                                const Updater::Rule& rule, const UpdateSettings& settings) {
  Device& device = store.device();
  std::unique_ptr<Update> update(new Update(store, param, updater));
  const std::size_t inputs = 2 + rule.history.size();
  DLHOST_TRY(update->prepare_apply(rule, settings));

  const TensorDesc row = flat(device, param.master);
  const TensorDesc sum{DType::f32, {1}, Format::plain()};
  std::size_t scratch = update->apply_->scratch_bytes;
  update->partial_count_ = rule.partials.results().size();
  if (update->partial_count_ > 0) {
    MapSpec partials{.expression = with_gradients(rule.partials,
                                                  {.history = rule.history.size(), .clip_value = settings.clip_value})};
    partials.in.assign(inputs, row);
    partials.out.assign(update->partial_count_, sum);
    DLHOST_ASSIGN(update->partials_, device.prepare(partials));
    scratch = std::max(scratch, update->partials_->scratch_bytes);
  }
  MapSpec norm{.expression = squared_sum(1), .in = {row}, .out = {sum}};
  DLHOST_ASSIGN(update->norm_, device.prepare(norm));
  scratch = std::max(scratch, update->norm_->scratch_bytes);
  DLHOST_ASSIGN(update->scratch_, Memory::make(device, scratch + 1));
  DLHOST_ASSIGN(update->sums_, Sums::make(device, store.stream(), std::max<std::size_t>(update->partial_count_, 1)));

  update->inputs_ = {param.value.data(), nullptr};
  update->outputs_ = {param.value.data()};
  for (auto& slot : param.history) {
    update->inputs_.push_back(slot.data());
    update->outputs_.push_back(slot.data());
  }
  for (Copy* copy : update->written_) update->outputs_.push_back(copy->data);
  update->scalars_.resize(Updater::first_own + rule.own_scalars);
  return update;
}

double Update::bytes() const {
  double bytes = 0;
  for (const auto* descs : {&apply_->in, &apply_->out})
    for (const auto& desc : *descs) bytes += static_cast<double>(store_.device().bytes(desc));
  return bytes;
}

// Every copy that the device can write along is written while the value is at hand.
Status Update::prepare_apply(const Updater::Rule& rule, const UpdateSettings& settings) {
  Device& device = store_.device();
  const auto prepare = [&] {
    const std::size_t inputs = 2 + rule.history.size();
    MapSpec apply{
        .expression = with_gradients(
            rule.apply, {.history = rule.history.size(), .clip_value = settings.clip_value, .copies = written_.size()}),
        .in = std::vector<TensorDesc>(inputs, param_.master),
        .out = std::vector<TensorDesc>(1 + rule.history.size(), param_.master),
        .keeps_zeros = true};
    for (const Copy* copy : written_) apply.out.push_back(copy->desc);
    return device.prepare(apply);
  };
  DLHOST_ASSIGN(apply_, prepare());
  for (auto& copy : param_.copies) {
    if (!copy->eager || !copy->from_master) continue;
    written_.push_back(copy.get());
    if (auto with_copy = prepare(); with_copy.ok())
      apply_ = *std::move(with_copy);
    else
      written_.pop_back();
  }
  return {};
}

Result<double> Update::squared_norm(const void* gradient) {
  norm_->execute(store_.stream(), {&gradient, 1}, sums_.places(1), scratch_.data(), {});
  DLHOST_ASSIGN(const auto sums, sums_.read(1));
  return sums[0];
}

std::span<const float> Update::begin(double rate, float gradient_scale) {
  const Declaration& declared = param_.declared;
  ++count_;
  scalars_[Updater::rate] = static_cast<float>(rate * declared.rate_scale);
  scalars_[Updater::decay_scale] = static_cast<float>(declared.decay_scale);
  scalars_[Updater::gradient_scale] = gradient_scale;
  updater_.scalars({count_, rate * declared.rate_scale}, {}, std::span(scalars_).subspan(Updater::first_own));
  return scalars_;
}

Status Update::end() {
  ++param_.version;
  for (Copy* copy : written_) copy->version = param_.version;
  return store_.refresh_eager(param_);
}

Status Update::run(const void* gradient, double rate, float gradient_scale) {
  inputs_[1] = gradient;
  const auto scalars = begin(rate, gradient_scale);
  if (partials_) {
    partials_->execute(store_.stream(), inputs_, sums_.places(partial_count_), scratch_.data(), {.scalars = scalars});
    DLHOST_ASSIGN(const auto sums, sums_.read(partial_count_));
    updater_.scalars({count_, rate * param_.declared.rate_scale}, sums,
                     std::span(scalars_).subspan(Updater::first_own));
  }
  apply_->execute(store_.stream(), inputs_, outputs_, scratch_.data(), {.scalars = scalars});
  return end();
}

} // namespace dlhost::param
