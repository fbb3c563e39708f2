#include "param/store/update.h"

namespace dlhost::param {

Result<std::unique_ptr<Update>> Update::prepare(Store& store, Param& param, const Updater& updater,
                                                const Updater::Rule& rule, const UpdateSettings& settings) {
  std::unique_ptr<Update> update(new Update(store, param));
  std::vector<Copy*> eager;
  PreparedRule::Setup setup{.updater = &updater,
                            .rule = &rule,
                            .form = {.clip_value = settings.clip_value, .copies = {}},
                            .tensor = param.master,
                            .takes_norm = true};
  for (auto& copy : param.copies) {
    if (!copy->eager || !copy->from_master) continue;
    eager.push_back(copy.get());
    setup.form.copies.push_back(copy->desc);
  }
  DLHOST_ASSIGN(update->rule_, PreparedRule::prepare(store, param.declared, setup));

  update->inputs_ = {param.value.data(), nullptr};
  update->outputs_ = {param.value.data()};
  for (auto& slot : param.history) {
    update->inputs_.push_back(slot.data());
    update->outputs_.push_back(slot.data());
  }
  for (const std::size_t copy : update->rule_.written()) {
    update->written_.push_back(eager[copy]);
    update->outputs_.push_back(eager[copy]->data);
  }
  return update;
}

double Update::bytes() const {
  double bytes = 0;
  for (const auto* descs : {&rule_.op().in, &rule_.op().out})
    for (const auto& desc : *descs) bytes += static_cast<double>(store_.device().bytes(desc));
  return bytes;
}

Result<double> Update::squared_norm(const void* gradient) { return rule_.squared_norm({&gradient, 1}); }

std::span<const float> Update::begin(double rate, float gradient_scale) {
  ++count_;
  return rule_.set(count_, rate, gradient_scale, {});
}

Status Update::end() {
  ++param_.version;
  for (Copy* copy : written_) copy->version = param_.version;
  return store_.refresh_eager(param_);
}

Status Update::run(const void* gradient, double rate, float gradient_scale) {
  inputs_[1] = gradient;
  begin(rate, gradient_scale);
  if (rule_.has_partials()) {
    DLHOST_ASSIGN(const auto sums, rule_.partials(inputs_));
    rule_.set(count_, rate, gradient_scale, sums);
  }
  rule_.apply(inputs_, outputs_);
  return end();
}

} // namespace dlhost::param
