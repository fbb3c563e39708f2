#include "program/program.h"

#include <algorithm>
#include <cmath>
#include <exception>

#include <fmt/format.h>

#include "param/store/transfer.h"
#include "plugin/contained.h"
#include "program/host_copies.h"

namespace dlhost::program {

Program::Program(ProgramParts parts)
    : graph_(std::move(parts.graph)), rows_(parts.units), device_(parts.device), stream_(parts.stream),
      store_(parts.store), activity_(parts.activity), frames_(parts.frames), cut_(parts.cut), training_(parts.training),
      slots_(std::move(parts.slots)), units_(std::move(parts.units)), links_(std::move(parts.links)),
      ops_(std::move(parts.ops)), loans_(std::move(parts.loans)), borrowings_(std::move(parts.borrowings)),
      calls_(std::move(parts.calls)), steps_(std::move(parts.steps)), unit_frames_(std::move(parts.unit_frames)),
      updated_(std::move(parts.updated)), footprint_(std::move(parts.footprint)) {
  if (parts.scales_loss) loss_scale_.emplace();
}

// An asynchronous device may still have work queued that uses ops destroyed here.
Program::~Program() {
  if (stream_) stream_->wait().ignore("a caller that needs the status has waited");
}

Status Program::open(const UpdateRequest& request) {
  if (!request.lent.empty()) {
    boxes_ = request.boxes;
    boxes_->lay_out(request.lent);
  }
  if (request.sharing) DLHOST_TRY(request.sharing->open(*store_));
  if (request.others) DLHOST_TRY(request.others->open(*store_));
  DLHOST_TRY(arenas_.make(*device_, *stream_, footprint_));
  arenas_.assign(slots_, request.sharing, boxes_ ? boxes_->own() : std::span<std::byte>());
  DLHOST_TRY(store_->allocate(request.updater ? &request.rule : nullptr));
  const ExchangeBuilder::Setup setup{.device = *device_,
                                     .stream = *stream_,
                                     .store = *store_,
                                     .activity = activity_,
                                     .loss_scale = loss_scale(),
                                     .timings = &timings_,
                                     .steps = steps_,
                                     .slots = slots_,
                                     .updated = updated_};
  DLHOST_ASSIGN(exchange_, ExchangeBuilder(request, setup).build(calls_));
  for (const Unit& unit : units_)
    for (int f = 0; f < frames_; ++f) {
      UnitFrame& at = unit_frames_.at(unit.node, f);
      point(at, unit, f, slots_);
      at.frame.scratch = arenas_.scratch();
      at.frame.stream = stream_;
    }
  for (auto& call : calls_) point(call, slots_);
  feeds_.find(units_, unit_frames_, calls_, slots_,
              {.frames = frames_, .cut = cut_, .first_row = rows_.first(), .rows = rows_.rows()});
  results_.find(units_, slots_, frames_, training_);
  passes_.resize(static_cast<std::size_t>(frames_) * rows_.all().size());
  return stream_->wait();
}

void Program::set_passes(const BatchView& batch, const StepInfo& info) {
  for (std::size_t p = 0; p < passes_.size(); ++p) {
    const auto [first_in_frame, rows] = rows_.all()[p % rows_.all().size()];
    const auto frame = static_cast<std::int64_t>(p / rows_.all().size());
    const std::int64_t first = first_in_frame + (cut_ ? frame * rows_.rows() : 0);
    Pass& pass = passes_[p];
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

// The stream may start these ops as one whole (begin_step to end_step), also if the step fails.
class OneStep {
 public:
  explicit OneStep(Stream& stream) : stream_(stream), thrown_(std::uncaught_exceptions()) { stream_.begin_step(); }
  OneStep(const OneStep&) = delete;
  OneStep& operator=(const OneStep&) = delete;
  // Ops that were held back run here and may throw. During unwinding their exception is dropped: the first one says
  // more.
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
  feeds_.bind(batch, slots_);
  set_passes(batch, info);
  Status status = plugin::contained(*activity_, [&]() -> Status {
    if (timings_.measures()) return run_steps(); // each op is waited for
    OneStep whole(*stream_);
    return run_steps();
  });
  if (!status.ok()) abandon_step();
  return status;
}

// Waits for queued work: it uses memory of the feeders and of the table, which a worker releases before its programs.
void Program::abandon_step() {
  constexpr const char* why = "the step has failed already";
  plugin::contained(*activity_, [this]() -> Status {
    exchange_->abandon();
    return stream_->wait();
  }).ignore(why);
}

Status Program::run_steps() {
  if (boxes_) DLHOST_TRY(boxes_->begin_step(info_.step));
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    if (steps_[s].settles) DLHOST_TRY(exchange_->settle(info_));
    DLHOST_TRY(timings_.timed(s, [&]() -> Status {
      DLHOST_TRY(exchange_->progress());
      return execute(steps_[s]);
    }));
  }
  DLHOST_TRY(exchange_->end_step(info_));
  timings_.count();
  return {};
}

Status Program::execute(const Step& step) {
  switch (step.act) {
  case Act::arrive: return stream_->wait_for(feeds_.arrived(step.index));
  case Act::feature:
  case Act::gradient: {
    UnitFrame& at = unit_frames_[step.index];
    const Unit& unit = units_[at.unit];
    Pass& pass = passes_[step.frame * rows_.all().size() + rows_.of(at.unit)];
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
      call.op->execute(*stream_, call.inputs, outputs, arenas_.scratch(), {.scalars = {&call.scalar, 1}});
      return {};
    }
    if (call.beside) return call.beside->copy(*stream_, call.output, call.inputs[0], call.bytes);
    if (call.inputs.empty()) return device_->fill_zero(*stream_, call.output, call.bytes);
    DLHOST_TRY(device_->copy(*stream_, call.output, call.inputs[0], call.bytes, call.direction));
    return call.direction == Direction::to_host ? stream_->wait() : Status();
  }
  case Act::lend: return boxes_->lend(loans_[step.index].transfer, loans_[step.index].to);
  case Act::borrow: return borrow(borrowings_[step.index]);
  case Act::collect: return collect(units_[step.index]);
  case Act::update: return exchange_->add(step.index, info_);
  case Act::check_losses: return read_results();
  }
  return {};
}

Status Program::borrow(const Borrowing& borrowing) {
  const std::uint32_t transfer = borrowing.transfer;
  for (const Borrowing::Box& box : borrowing.boxes) {
    const void* from = borrowing.own == no_slot ? nullptr : slots_[borrowing.own].data;
    if (!box.is_own()) {
      DLHOST_ASSIGN(const std::byte* lent, boxes_->wait(transfer, box.worker));
      from = lent + box.place;
    }
    void* outputs[] = {slots_[borrowing.to].data};
    box.op->execute(*stream_, {&from, 1}, outputs, arenas_.scratch(), {});
    if (!box.is_own() && box.last) DLHOST_TRY(boxes_->give_back(transfer, box.worker));
  }
  return {};
}

Status Program::collect(const Unit& unit) {
  // Collects all params, even without a reader: a new gradient must not replace the last one before that is taken.
  for (const auto* param : unit.params) DLHOST_TRY(exchange_->collect(*param));
  exchange_->converts(true);
  for (std::size_t u = 0; u < unit.uses.size(); ++u) {
    const auto& use = unit.uses[u];
    DLHOST_TRY(store_->refresh(*use.param, *use.copy));
    for (UnitFrame& at : unit_frames_.of(unit.node))
      at.params[u] = use.copy->data; // a new version may have another address
  }
  DLHOST_TRY(store_->landed());
  exchange_->converts(false);
  return {};
}

Status Program::read_results() {
  DLHOST_TRY(results_.copy_metrics(*device_, *stream_, slots_));
  if (Status status = stream_->wait(); !status.ok()) return placed(std::move(status));
  DLHOST_TRY(results_.take_metrics(info_.step));
  return results_.read_tables(*device_, *stream_, slots_);
}

// An asynchronous device reports an op's error late. Runs the features again and waits after each, to name the layer.
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

Result<std::string> Program::find_not_finite() {
  const auto finite = [](const std::vector<float>& values) {
    return std::ranges::all_of(values, [](float v) { return std::isfinite(v); });
  };
  // Gradients flow down from the loss: of the layers with params that are not finite, the uppermost was first.
  for (auto unit = units_.rbegin(); unit != units_.rend(); ++unit)
    for (const auto* param : unit->params) {
      DLHOST_ASSIGN(const auto values,
                    param::download(store_->device(), store_->stream(), param->master, param->value.data()));
      if (!finite(values))
        return fmt::format("it began in layer '{}' ({}), whose param '{}' is not finite since an earlier update",
                           unit->described->name, unit->described->type, param->declared.name);
    }
  if (boxes_) return std::string(); // the other workers lend nothing for a second run
  for (const Step& step : steps_) { // runs the batch again and checks each layer
    if (step.act == Act::check_losses) break;
    if (step.act == Act::gradient || step.act == Act::update) break;
    if (step.act == Act::collect) continue; // params are collected already
    DLHOST_TRY(execute(step));
    if (step.act != Act::feature) continue;
    const UnitFrame& at = unit_frames_[step.index];
    for (auto id : at.output_slots) {
      const Slot& slot = slots_[id];
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
  const SlotId id = units_.at(node).outputs.at(output);
  const Slot& slot = slots_[id];
  if (slot.on_host || slots_[slots_.root(id)].external)
    return Status::unsupported("output ", output, " of layer '", graph_->nodes()[node].name, "' is input data");
  return param::download(*device_, *stream_, slot.desc, slot.data);
}

const TensorDesc& Program::desc_of(std::size_t node, std::size_t output) const {
  return slots_[units_.at(node).outputs.at(output)].desc;
}

bool Program::takes_delivered(std::size_t node, std::size_t output) const {
  const auto& outputs = units_.at(node).outputs; // none of a source that other workers read
  return output < outputs.size() && slots_.is_delivered(outputs[output]);
}

double Program::operations() const {
  double sum = 0;
  for (const auto& unit : units_)
    for (const auto& op : unit.ops) sum += op.operations;
  return sum * frames_;
}

} // namespace dlhost::program
