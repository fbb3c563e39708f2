#include "program/table_updates.h"

#include "param/table/table.h"

namespace dlhost::program {

Status TableUpdates::progress() {
  DLHOST_TRY(sharing_.table().progress());
  return copies_ ? send_what_has_left() : Status();
}

Status TableUpdates::collect(const param::Param& param) { return sharing_.table().collect(param.number); }

void TableUpdates::converts(bool begins) { sharing_.table().converts(begins); }

Status TableUpdates::send(std::uint32_t update) {
  return sharing_.table().update(updated_[update]->number, step_, rate_);
}

Status TableUpdates::send_what_has_left() {
  return copies_->send_what_is_there([this](std::uint32_t update) { return send(update); });
}

Status TableUpdates::add(std::uint32_t update, const StepInfo& info) {
  step_ = info.step;
  rate_ = info.rate;
  return copies_ ? copies_->add(update) : send(update);
}

// Serves other workers while the device copies.
Status TableUpdates::end_step(const StepInfo& info) {
  if (copies_) {
    while (!copies_->empty()) DLHOST_TRY(progress());
    copies_->begin();
  }
  DLHOST_TRY(store_.rests());
  return sharing_.table().end_step(info.step);
}

void TableUpdates::abandon() {
  if (copies_) copies_->wait().ignore("the step has failed already");
}

} // namespace dlhost::program
