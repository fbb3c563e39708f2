#include "param/store/update_together.h"

#include <algorithm>

namespace dlhost::param {

std::optional<Likeness> likeness_of(const Param& param, const Updater::Rule& rule) {
  if (!rule.partials.results().empty() || param.factors || param.master.count() > UpdateTogether::most_elements)
    return std::nullopt;
  Likeness likeness{param.declared.rate_scale, param.declared.decay_scale, {}};
  const auto plain_if_open = [](const TensorDesc& desc) {
    return desc.format.is_any() ? desc.as(Format::plain()) : desc;
  };
  const TensorDesc master = plain_if_open(param.master);
  for (const auto& copy : param.copies) {
    const TensorDesc form = plain_if_open(copy->desc);
    if (!copy->eager || form == master) continue;
    if (form.format != master.format) return std::nullopt; // the elements are in another order
    likeness.copies.push_back(form.dtype);
  }
  return likeness;
}

Result<std::unique_ptr<UpdateTogether>> UpdateTogether::prepare(Store& store, std::vector<Update*> updates,
                                                                const Updater::Rule& rule,
                                                                const UpdateSettings& settings) {
  std::unique_ptr<UpdateTogether> together(new UpdateTogether(store));
  Device& device = store.device();
  const std::vector<Copy*>& copies = updates.front()->written_;
  std::vector<std::int64_t> elements;
  for (const Update* update : updates) {
    if (update->written_.size() != copies.size())
      return Status::unsupported("copies of '", update->param_.declared.name, "' are not written by the same update");
    elements.push_back(static_cast<std::int64_t>(device.bytes(update->param_.master) / sizeof(float)));
    together->inputs_.insert(together->inputs_.end(), update->inputs_.begin(), update->inputs_.end());
    together->outputs_.insert(together->outputs_.end(), update->outputs_.begin(), update->outputs_.end());
  }
  const TensorDesc longest{DType::f32, {std::ranges::max(elements)}, Format::plain()};
  RuleForm form{.clip_value = settings.clip_value, .copies = {}};
  for (const Copy* copy : copies) form.copies.push_back(longest.as(copy->desc.dtype));
  MapSpec apply = apply_spec(rule, form, longest);
  apply.segments = std::move(elements);
  DLHOST_ASSIGN(together->apply_, device.prepare(apply));
  DLHOST_ASSIGN(together->scratch_, Memory::make(device, together->apply_->scratch_bytes + 1));
  together->inputs_each_ = apply.in.size();
  together->updates_ = std::move(updates);
  return together;
}

Status UpdateTogether::run(std::span<const void* const> gradients, double rate, float gradient_scale) {
  std::span<const float> scalars;
  for (std::size_t i = 0; i < updates_.size(); ++i) {
    inputs_[i * inputs_each_ + 1] = gradients[i];
    scalars = updates_[i]->begin(rate, gradient_scale);
  }
  apply_->execute(store_.stream(), inputs_, outputs_, scratch_.data(), {.scalars = scalars});
  for (Update* update : updates_) DLHOST_TRY(update->end());
  return {};
}

double UpdateTogether::bytes() const {
  double bytes = 0;
  for (const Update* update : updates_) bytes += update->bytes();
  return bytes;
}

} // namespace dlhost::param
