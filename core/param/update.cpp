#include "param/update.h"

#include <algorithm>

#include "param/rule_op.h"

namespace dlhost::param {
namespace {

// A tensor as it lies, padding and all, as one row: an updater works element by element and makes zero of zero, so
// that padding stays what it is and no format matters.
TensorDesc flat(const Device& device, const TensorDesc& desc) {
  return {desc.dtype, {static_cast<std::int64_t>(device.bytes(desc) / size_of(desc.dtype))}, Format::plain()};
}

Expression square() {
  Expression square;
  const auto g = square.input(0);
  square.result(g * g);
  return square;
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
  if (!rule.partials.results().empty()) {
    MapSpec partials{.expression = with_gradients(rule.partials,
                                                  {.history = rule.history.size(), .clip_value = settings.clip_value})};
    partials.in.assign(inputs, row);
    partials.out.assign(rule.partials.results().size(), sum);
    DLHOST_ASSIGN(update->partials_, device.prepare(partials));
    scratch = std::max(scratch, update->partials_->scratch_bytes);
    update->sums_.resize(partials.out.size());
  }
  MapSpec norm{.expression = square(), .in = {row}, .out = {sum}};
  DLHOST_ASSIGN(update->norm_, device.prepare(norm));
  scratch = std::max(scratch, update->norm_->scratch_bytes);
  DLHOST_ASSIGN(update->scratch_, Memory::make(device, scratch + 1));
  DLHOST_ASSIGN(update->sum_memory_,
                Memory::make(device, sizeof(float) * 16 * std::max<std::size_t>(update->sums_.size(), 1)));
  for (std::size_t i = 0; i < update->sums_.size(); ++i)
    update->sum_outputs_.push_back(update->sum_memory_.data() + i * sizeof(float) * 16);

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

Result<double> Update::read_sum(std::size_t index) {
  float sum = 0;
  DLHOST_TRY(store_.device().copy(store_.stream(), &sum, sum_memory_.data() + index * sizeof(float) * 16, sizeof sum,
                                  Direction::to_host));
  DLHOST_TRY(store_.stream().wait());
  return static_cast<double>(sum);
}

Result<double> Update::squared_norm(const void* gradient) {
  norm_->run(store_.stream(), {gradient}, {sum_memory_.data()}, scratch_.data());
  return read_sum(0);
}

Status Update::run(const void* gradient, double rate, float gradient_scale) {
  const Declaration& declared = param_.declared;
  ++count_;
  inputs_[1] = gradient;
  scalars_[Updater::rate] = static_cast<float>(rate * declared.rate_scale);
  scalars_[Updater::decay_scale] = static_cast<float>(declared.decay_scale);
  scalars_[Updater::gradient_scale] = gradient_scale;
  const Updater::When when{count_, rate * declared.rate_scale};
  const auto own = std::span(scalars_).subspan(Updater::first_own);
  if (partials_) {
    updater_.scalars(when, {}, own);
    partials_->execute(store_.stream(), inputs_, sum_outputs_, scratch_.data(), {.scalars = scalars_});
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      DLHOST_ASSIGN(sums_[i], read_sum(i));
    }
  }
  updater_.scalars(when, sums_, own);
  apply_->execute(store_.stream(), inputs_, outputs_, scratch_.data(), {.scalars = scalars_});
  ++param_.version;
  for (Copy* copy : written_) copy->version = param_.version;
  store_.refresh_eager(param_);
  return {};
}

} // namespace dlhost::param
