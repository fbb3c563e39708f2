#include "param/store/prepared_rule.h"

#include <algorithm>

namespace dlhost::param {
namespace {

// A tensor with its padding as one row. An updater works element by element and makes zero of zero, so the padding
// stays zero and the format does not matter.
TensorDesc flat(const Device& device, const TensorDesc& desc) {
  return {desc.dtype, {static_cast<std::int64_t>(device.bytes(desc) / size_of(desc.dtype))}, Format::plain()};
}

} // namespace

Result<PreparedRule> PreparedRule::prepare(Store& store, const Declaration& declared, const Setup& setup) {
  Device& device = store.device();
  PreparedRule made;
  made.declared_ = &declared;
  made.updater_ = setup.updater;
  made.stream_ = &store.stream();
  DLHOST_TRY(made.prepare_apply(device, setup));
  DLHOST_TRY(made.prepare_sums(device, setup));
  std::size_t scratch = 1;
  for (const Op* op : {made.apply_.get(), made.partials_.get(), made.norm_.get()})
    if (op) scratch = std::max(scratch, op->scratch_bytes);
  DLHOST_ASSIGN(made.scratch_, Memory::make(device, scratch));
  DLHOST_ASSIGN(made.sums_, Sums::make(device, store.stream(), std::max<std::size_t>(made.partial_count_, 1)));
  made.scalars_.resize(Updater::first_own + setup.rule->own_scalars);
  return made;
}

Status PreparedRule::prepare_apply(Device& device, const Setup& setup) {
  RuleForm form = setup.form;
  form.copies.clear();
  DLHOST_ASSIGN(apply_, device.prepare(apply_spec(*setup.rule, form, setup.tensor)));
  for (std::size_t copy = 0; copy < setup.form.copies.size(); ++copy) {
    form.copies.push_back(setup.form.copies[copy]);
    if (auto with_copy = device.prepare(apply_spec(*setup.rule, form, setup.tensor)); with_copy.ok()) {
      apply_ = *std::move(with_copy);
      written_.push_back(copy);
    } else {
      form.copies.pop_back();
    }
  }
  return {};
}

Status PreparedRule::prepare_sums(Device& device, const Setup& setup) {
  const TensorDesc row = flat(device, setup.tensor);
  partial_count_ = setup.rule->partials.results().size();
  if (partial_count_ > 0) {
    DLHOST_ASSIGN(partials_, device.prepare(partials_spec(*setup.rule, setup.form, row)));
  }
  if (setup.takes_norm) {
    DLHOST_ASSIGN(norm_, device.prepare(squared_sum_spec(setup.form.gradients, row)));
  }
  return {};
}

std::span<const float> PreparedRule::set(std::uint64_t count, double rate, float gradient_scale,
                                         std::span<const double> sums) {
  rate *= declared_->rate_scale;
  scalars_[Updater::rate] = static_cast<float>(rate);
  scalars_[Updater::decay_scale] = static_cast<float>(declared_->decay_scale);
  scalars_[Updater::gradient_scale] = gradient_scale;
  updater_->scalars({count, rate}, sums, std::span(scalars_).subspan(Updater::first_own));
  return scalars_;
}

Result<double> PreparedRule::squared_norm(std::span<const void* const> gradients) {
  norm_->execute(*stream_, gradients, sums_.places(1), scratch_.data(), {});
  DLHOST_ASSIGN(const auto sums, sums_.read(1));
  return sums[0];
}

Result<std::span<const double>> PreparedRule::partials(std::span<const void* const> inputs) {
  partials_->execute(*stream_, inputs, sums_.places(partial_count_), scratch_.data(), {.scalars = scalars_});
  return sums_.read(partial_count_);
}

void PreparedRule::apply(std::span<const void* const> inputs, std::span<void* const> outputs) {
  apply_->execute(*stream_, inputs, outputs, scratch_.data(), {.scalars = scalars_});
}

} // namespace dlhost::param
