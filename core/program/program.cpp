#include "program/program.h"

#include <algorithm>
#include <cmath>
#include <exception>

#include <fmt/format.h>

#include "param/store/transfer.h"
#include "plugin/contained.h"

namespace dlhost::program {

// On a device that works behind the host, what was given last may still have to be done, by ops that go now.
Program::~Program() {
  if (stream_) stream_->wait().ignore("who wanted to know has waited");
}

void Program::bind(const BatchView& batch) {
  for (auto& feed : feeds_)
    for (const auto& source : batch.sources) {
      if (source.node != feed.node) continue;
      arrived_[feed.node] = source.arrived;
      void* const begin = feed.delivered ? source.delivered[feed.output] : source.outputs[feed.output];
      const auto rows = cut_ ? static_cast<std::size_t>(feed.frame) * static_cast<std::size_t>(graph_->batch()) : 0;
      const void* data = static_cast<std::byte*>(begin) + rows * feed.row_bytes;
      slots_[static_cast<std::size_t>(feed.slot)].data = const_cast<void*>(data);
      for (const void** reader : feed.readers) *reader = data;
    }
}

void Program::set_passes(const BatchView& batch, const StepInfo& info) {
  for (std::size_t f = 0; f < passes_.size(); ++f) {
    const std::int64_t rows = graph_->batch();
    const std::int64_t first = cut_ ? static_cast<std::int64_t>(f) * rows : 0;
    Pass& pass = passes_[f];
    pass.phase = info.phase;
    pass.step = info.step;
    pass.epoch = info.epoch;
    pass.valid = std::clamp<std::int64_t>(batch.valid - first, 0, rows);
    pass.global_batch = info.global_batch;
    pass.loss_scale = loss_scale_ ? loss_scale_->value() : 1;
    pass.seed = info.seed;
    pass.samples = batch.samples.empty()
                       ? batch.samples
                       : batch.samples.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows));
  }
}

namespace {

// What the stream may start as one whole, until it ends, however that is.
class OneStep {
 public:
  explicit OneStep(Stream& stream) : stream_(stream), thrown_(std::uncaught_exceptions()) { stream_.begin_step(); }
  OneStep(const OneStep&) = delete;
  OneStep& operator=(const OneStep&) = delete;
  // Ops that were held back run here, and may throw; but not behind what was thrown before, which says more.
  ~OneStep() noexcept(false) {
    try {
      stream_.end_step();
    } catch (...) {
      if (std::uncaught_exceptions() == thrown_) throw;
    }
  }

 private:
  Stream& stream_;
  int thrown_;
};

} // namespace

Status Program::run(const BatchView& batch, const StepInfo& info) {
  info_ = info;
  gradient_scale_ = 1;
  bind(batch);
  set_passes(batch, info);
  Status status = plugin::contained(*activity_, [&]() -> Status {
    if (clock_) return run_steps(); // each op is waited for
    OneStep whole(*stream_);
    return run_steps();
  });
  if (!status.ok()) abandon_step();
  return status;
}

// What is queued reads and writes memory of the feeders and of the table, which a worker that ends releases before its
// programs.
void Program::abandon_step() {
  constexpr const char* why = "the step has failed already";
  plugin::contained(*activity_, [this]() -> Status {
    if (summing_) summing_->give_up();
    if (leaving_) leaving_->wait().ignore(why);
    return stream_->wait();
  }).ignore(why);
}

// Where it is measured, what the work takes is the step's.
template <class Work> Status Program::timed(std::size_t step, Work&& work) {
  if (!clock_) return work();
  const Nanoseconds begin = clock_->now();
  DLHOST_TRY(work());
  DLHOST_TRY(stream_->wait());
  timings_[step].seconds += static_cast<double>(clock_->now() - begin) * 1e-9;
  return {};
}

Status Program::run_steps() {
  const auto work_at = [this](std::size_t s) -> Status {
    if (sharing_) DLHOST_TRY(sharing_->progress());
    if (others_) DLHOST_TRY(others_->progress());
    if (leaving_) DLHOST_TRY(send_what_has_left());
    return execute(steps_[s]);
  };
  unsettled_.clear();
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    if (summing_ && settles_[s]) DLHOST_TRY(settle());
    DLHOST_TRY(timed(s, [&] { return work_at(s); }));
  }
  if (summing_) DLHOST_TRY(settle());
  if (training_ && updates_at_the_end()) DLHOST_TRY(make_updates());
  for (Timing& timing : timings_) ++timing.calls;
  if (leaving_) DLHOST_TRY(send_all());
  DLHOST_TRY(store_->rests());
  return sharing_ ? sharing_->end_step(info_.step) : Status();
}

Status Program::send_what_has_left() {
  return leaving_->send_what_is_there(
      [this](std::uint32_t update) { return sharing_->update(*updated_[update], info_.step, info_.rate); });
}

// Whoever waits for this worker's server does not wait for its device.
Status Program::send_all() {
  while (!leaving_->empty()) {
    DLHOST_TRY(sharing_->progress());
    DLHOST_TRY(send_what_has_left());
  }
  leaving_->begin();
  return {};
}

Status Program::execute(const Step& step) {
  switch (step.act) {
  case Act::arrive: return stream_->wait_for(*arrived_[step.index]);
  case Act::feature:
  case Act::gradient: {
    UnitFrame& at = unit_frames_[step.index];
    const Unit& unit = units_[at.unit];
    Pass& pass = passes_[step.frame];
    pass.sweep = step.sweep;
    const bool feature = step.act == Act::feature;
    activity_->enter(unit.described->actor, feature ? "compute_feature" : "compute_gradient", info_.step);
    if (feature)
      unit.layer->compute_feature(pass, at.frame);
    else
      unit.layer->compute_gradient(pass, at.frame, step.wanted);
    activity_->leave();
    return {};
  }
  case Act::call: {
    const Call& call = calls_[step.index];
    if (call.op) {
      void* outputs[] = {call.output};
      call.op->execute(*stream_, call.inputs, outputs, scratch_.data(), {.scalars = {&call.scalar, 1}});
      return {};
    }
    if (call.leaves && leaving_) return leaving_->copy(*stream_, call.output, call.inputs[0], call.bytes);
    if (call.inputs.empty()) return device_->fill_zero(*stream_, call.output, call.bytes);
    DLHOST_TRY(device_->copy(*stream_, call.output, call.inputs[0], call.bytes, call.direction));
    return call.direction == Direction::to_host ? stream_->wait() : Status();
  }
  case Act::collect: return collect(units_[step.index]);
  case Act::update: return update(step);
  case Act::check_losses: return read_metrics();
  }
  return {};
}

std::span<Program::UnitFrame> Program::frames_of(const Unit& unit) {
  const auto frames = static_cast<std::size_t>(frames_);
  return std::span(unit_frames_).subspan(static_cast<std::size_t>(&unit - units_.data()) * frames, frames);
}

Status Program::collect(const Unit& unit) {
  // Also what no pass reads: its gradient is not to be made anew before the last one has been taken.
  for (const auto* param : unit.params)
    if (sharing_) DLHOST_TRY(sharing_->collect(*param));
  if (sharing_) sharing_->converts(true);
  for (std::size_t u = 0; u < unit.uses.size(); ++u) {
    const auto& use = unit.uses[u];
    DLHOST_TRY(store_->refresh(*use.param, *use.copy));
    for (UnitFrame& at : frames_of(unit)) at.params[u] = use.copy->data; // a new version may lie elsewhere
  }
  DLHOST_TRY(store_->landed());
  if (sharing_) sharing_->converts(false);
  return {};
}

Status Program::update(const Step& step) {
  if (leaving_) return leaving_->add(step.index);
  if (sharing_) return sharing_->update(*updated_[step.index], info_.step, info_.rate);
  if (summing_) {
    unsettled_.push_back(&step);
    const Slot& gradient = slots_[static_cast<std::size_t>(step.gradient)];
    return summing_->add(gradient.data, static_cast<std::int64_t>(gradient.bytes / size_of(gradient.desc.dtype)));
  }
  return updates_at_the_end() ? Status() : apply(step);
}

// All updates so far, of the sums of all workers' gradients; those that wait for the last gradient are made at the end.
Status Program::settle() {
  DLHOST_TRY(summing_->finish());
  for (const Step* step : unsettled_)
    if (!updates_at_the_end())
      DLHOST_TRY(timed(static_cast<std::size_t>(step - steps_.data()), [&] { return apply(*step); }));
  unsettled_.clear();
  return {};
}

Status Program::apply(const Step& step) {
  Joined* const together = joined(step.index);
  if (together && together->updates.back() != step.index) return {};
  activity_->enter(updater_actor_, "update", info_.step);
  const void* gradient = slots_[static_cast<std::size_t>(step.gradient)].data;
  Status status = together ? together->update->run(together->data, info_.rate, gradient_scale_)
                           : updates_[step.index]->run(gradient, info_.rate, gradient_scale_);
  activity_->leave();
  return status;
}

Program::Joined* Program::joined(std::uint32_t update) {
  const std::uint32_t place = joined_of_[update];
  return place == 0 ? nullptr : &joined_[place - 1];
}

// Where the norm of all gradients is wanted, the updates wait for the last of them: to clip them, or to know that all
// are finite.
Status Program::make_updates() {
  const auto each_update = [&](auto&& work) -> Status {
    for (std::size_t s = 0; s < steps_.size(); ++s)
      if (steps_[s].act == Act::update) DLHOST_TRY(timed(s, [&] { return work(steps_[s]); }));
    return {};
  };
  double squares = 0;
  const auto add_square = [&](const Step& step) -> Status {
    DLHOST_ASSIGN(const double square,
                  updates_[step.index]->squared_norm(slots_[static_cast<std::size_t>(step.gradient)].data));
    squares += square;
    return {};
  };
  DLHOST_TRY(each_update(add_square));
  const double scale = loss_scale_ ? loss_scale_->value() : 1, norm = std::sqrt(squares) / scale;
  if (loss_scale_ && !std::isfinite(norm)) return loss_scale_->overflowed(info_.step);
  if (clip_norm_ > 0) gradient_norm_ = norm;
  gradient_scale_ = static_cast<float>((clip_norm_ > 0 && norm > clip_norm_ ? clip_norm_ / norm : 1) / scale);
  DLHOST_TRY(each_update([&](const Step& step) { return apply(step); }));
  if (loss_scale_) loss_scale_->went_well();
  return {};
}

Status Program::read_metrics() {
  for (std::size_t m = 0; m < metrics_.size(); ++m) {
    const Slot& slot = slots_[static_cast<std::size_t>(metrics_[m].slot)];
    if (slot.on_host || device_->traits().host_memory)
      std::copy_n(static_cast<const float*>(slot.data), 2, &metric_values_[2 * m]);
    else
      DLHOST_TRY(device_->copy(*stream_, &metric_values_[2 * m], slot.data, 2 * sizeof(float), Direction::to_host));
  }
  if (Status status = stream_->wait(); !status.ok()) return placed(std::move(status));
  for (std::size_t m = 0; m < metrics_.size(); ++m) {
    Metric& metric = metrics_[m];
    metric.last_sum = static_cast<double>(metric_values_[2 * m]);
    metric.last_count = static_cast<double>(metric_values_[2 * m + 1]);
    if (metric.is_loss && !std::isfinite(metric.last_sum))
      return Status::cancelled("the loss '", metric.name, "' is ",
                               std::isnan(metric.last_sum) ? "not a number" : "infinite", " in step ", info_.step);
  }
  return tables_.empty() ? Status() : read_tables();
}

// An op that cannot do its work says so to the stream, behind the host: the features once more, looking after each.
Status Program::placed(Status status) {
  for (const Step& step : steps_) {
    if (step.act == Act::check_losses) break;
    if (step.act != Act::feature && step.act != Act::call) continue;
    DLHOST_TRY(execute(step));
    Status here = stream_->wait();
    if (here.ok() || step.act == Act::call) continue;
    const net::Node& node = *units_[unit_frames_[step.index].unit].described;
    const bool trains = info_.phase == Phase::train;
    return std::move(here).at("layer '", node.name, "' (", node.type, ") in ", trains ? "step " : "batch ", info_.step,
                              trains ? "" : " of an evaluation");
  }
  return status;
}

Status Program::read_tables() {
  for (auto& table : tables_) {
    const Slot& slot = slots_[static_cast<std::size_t>(table.slot)];
    const std::span values(table_values_.data(), table.last.counts.size());
    if (slot.on_host || device_->traits().host_memory) {
      std::copy_n(static_cast<const float*>(slot.data), values.size(), values.data());
    } else {
      DLHOST_TRY(device_->copy(*stream_, values.data(), slot.data, values.size_bytes(), Direction::to_host));
      DLHOST_TRY(stream_->wait());
    }
    std::copy(values.begin(), values.end(), table.last.counts.begin());
  }
  return {};
}

Status Program::restart() {
  for (const UnitFrame& at : unit_frames_) {
    const Unit& unit = units_[at.unit];
    for (std::size_t b = 0; b < unit.buffers.size(); ++b) {
      const Buffer& buffer = unit.buffers[b];
      if (buffer.life != Life::carried || !buffer.carried.empty()) continue;
      DLHOST_TRY(device_->fill_zero(*stream_, at.buffers[b], buffer.bytes));
      if (buffer.initial == 0 || buffer.desc.dtype != DType::f32) continue;
      const std::vector<float> first(static_cast<std::size_t>(buffer.desc.count()), buffer.initial);
      DLHOST_TRY(param::upload(*device_, *stream_, first, buffer.desc, at.buffers[b]));
    }
  }
  return {};
}

void Program::resume_at(std::uint64_t updates) {
  for (auto& update : updates_) update->resume_at(updates);
}

Result<std::string> Program::find_not_finite() {
  const auto finite = [](const std::vector<float>& values) {
    return std::ranges::all_of(values, [](float v) { return std::isfinite(v); });
  };
  // Gradients go down from the loss: of the layers whose params have become so, it began in the uppermost.
  for (auto unit = units_.rbegin(); unit != units_.rend(); ++unit)
    for (const auto* param : unit->params) {
      DLHOST_ASSIGN(const auto values,
                    param::download(store_->device(), store_->stream(), param->master, param->value.data()));
      if (!finite(values))
        return fmt::format("it began in layer '{}' ({}), whose param '{}' is not finite since an earlier update",
                           unit->described->name, unit->described->type, param->declared.name);
    }
  for (const Step& step : steps_) { // the same batch once more, looking after each layer
    if (step.act == Act::check_losses) break;
    if (step.act == Act::gradient || step.act == Act::update) break;
    if (step.act == Act::collect) continue; // they are here
    DLHOST_TRY(execute(step));
    if (step.act != Act::feature) continue;
    const UnitFrame& at = unit_frames_[step.index];
    for (auto id : at.output_slots) {
      const Slot& slot = slots_[static_cast<std::size_t>(id)];
      if (slot.on_host || !is_float(slot.desc.dtype)) continue;
      DLHOST_ASSIGN(const auto values, param::download(*device_, *stream_, slot.desc, slot.data));
      if (!finite(values))
        return fmt::format("it began in layer '{}' ({})", units_[at.unit].described->name,
                           units_[at.unit].described->type);
    }
  }
  return std::string();
}

Result<std::vector<float>> Program::read_output(std::size_t node, std::size_t output) {
  const Slot& slot = slots_[static_cast<std::size_t>(units_.at(node).outputs.at(output))];
  const Slot* place = &slot;
  while (place->alias != no_slot) place = &slots_[static_cast<std::size_t>(place->alias)];
  if (slot.on_host || place->external)
    return Status::unsupported("output ", output, " of layer '", graph_->nodes()[node].name, "' is input data");
  return param::download(*device_, *stream_, slot.desc, slot.data);
}

const TensorDesc& Program::desc_of(std::size_t node, std::size_t output) const {
  return slots_[static_cast<std::size_t>(units_.at(node).outputs.at(output))].desc;
}

bool Program::takes_delivered(std::size_t node, std::size_t output) const {
  const Slot& slot = slots_[static_cast<std::size_t>(units_.at(node).outputs.at(output))];
  return graph_->nodes()[node].source && !slot.on_host && !device_->traits().host_memory;
}

double Program::operations() const {
  double sum = 0;
  for (const auto& unit : units_)
    for (const auto& op : unit.ops) sum += op.operations;
  return sum * frames_;
}

} // namespace dlhost::program
