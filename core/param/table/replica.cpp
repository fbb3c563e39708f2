#include "param/table/replica.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace dlhost::param {
namespace {

// Of the own value and the servers'.
Expression parting() {
  Expression parting;
  const Term value = parting.input(0), centre = parting.input(1);
  const Term difference = parting.scalar(0) * (value - centre);
  parting.result(value - difference);
  parting.result(difference);
  return parting;
}

Expression sum() {
  Expression sum;
  const Term one = sum.input(0), other = sum.input(1);
  sum.result(one + other);
  return sum;
}

} // namespace

Result<std::unique_ptr<Replica>> Replica::make(Setup setup) {
  std::unique_ptr<Replica> replica(new Replica(setup));
  Store& store = *setup.store;
  const auto rule = setup.updater->rule();
  replica->owned_.resize(setup.gradients->elements().size());
  std::size_t scratch = 1;
  for (std::size_t param = 0; param < replica->owned_.size(); ++param) {
    if (setup.gradients->elements()[param] == 0) continue;
    DLHOST_TRY(replica->own(param, rule));
    for (const Op* op : {replica->owned_[param].part.get(), replica->owned_[param].add.get()})
      if (op) scratch = std::max(scratch, op->scratch_bytes);
  }
  DLHOST_ASSIGN(replica->scratch_, Memory::make(store.device(), scratch));
  DLHOST_TRY(store.stream().wait());
  return replica;
}

Status Replica::own(std::size_t param, const Updater::Rule& rule) {
  Store& store = *setup_.store;
  const ReplicaPlaces::Places& places = setup_.places->of(param);
  const auto at = [&](std::size_t place) { return reinterpret_cast<float*>(setup_.memory.data() + place); };
  Own& own = owned_[param];
  own.elements = setup_.gradients->elements()[param];
  own.gradient = at(setup_.gradients->offset(param));
  own.value = at(places.value);
  std::vector<float*> history;
  for (std::size_t slot = 0; slot < places.history.size(); ++slot) {
    const std::span bytes = setup_.memory.subspan(places.history[slot], places.bytes);
    DLHOST_TRY(store.fill(*store.params()[param], Held(bytes), rule.history[slot].initial));
    history.push_back(at(places.history[slot]));
  }
  DLHOST_ASSIGN(own.update, SliceUpdate::prepare(store, *store.params()[param], own.elements, {history}, 1,
                                                 *setup_.updater, rule, setup_.update_settings));
  const TensorDesc row{DType::f32, {own.elements}, Format::plain()};
  if (places.accrued) {
    own.kept = at(*places.accrued);
    DLHOST_ASSIGN(own.add, store.device().prepare(MapSpec{.expression = sum(), .in = {row, row}, .out = {row}}));
  } else {
    DLHOST_ASSIGN(own.part,
                  store.device().prepare(MapSpec{.expression = parting(), .in = {row, row}, .out = {row, row}}));
  }
  return {};
}

void Replica::begin(const Masters* values, std::uint64_t steps) {
  first_ = values ? steps : 0;
  for (std::size_t param = 0; param < owned_.size(); ++param) {
    Own& own = owned_[param];
    if (own.elements == 0) continue;
    if (values) std::memcpy(own.value, values->value(param, 0).data(), values->value(param, 0).size());
    own.newest = own.value;
    own.keeps = false;
  }
}

std::span<std::byte> Replica::value(std::size_t param) const {
  const Own& own = owned_[param];
  auto* newest = reinterpret_cast<std::byte*>(const_cast<float*>(own.newest)); // as the store has it
  return {newest, static_cast<std::size_t>(own.elements) * sizeof(float)};
}

void Replica::fetch(std::size_t param, std::span<std::byte> master) {
  owned_[param].newest = reinterpret_cast<const float*>(master.data());
}

Status Replica::update(std::size_t param, std::uint64_t step, double rate) {
  Own& own = owned_[param];
  const float* gradient = own.gradient;
  const SliceUpdate::Run run{
      .from = own.newest, .to = own.value, .gradients = {&gradient, 1}, .count = step + 1 - first_, .rate = rate};
  setup_.activity->enter(setup_.updater_actor, "update", step);
  const auto updated = [&]() -> Status {
    DLHOST_ASSIGN(const auto sums, own.update->partials(run));
    return own.update->run(run, sums);
  };
  Status status = updated();
  setup_.activity->leave();
  own.newest = own.value;
  return status;
}

Status Replica::run(Op& op, std::span<const void* const> inputs, std::span<void* const> outputs,
                    std::span<const float> scalars) {
  op.execute(setup_.store->stream(), inputs, outputs, scratch_.data(), {.scalars = scalars});
  return setup_.store->stream().wait();
}

Status Replica::part_from(std::size_t param, std::span<const std::byte> centre, float factor) {
  const Own& own = owned_[param];
  const void* inputs[] = {own.value, centre.data()};
  void* outputs[] = {own.value, own.gradient};
  return run(*own.part, inputs, outputs, {&factor, 1});
}

Status Replica::accrue(std::size_t param, const Accrued& last) {
  Own& own = owned_[param];
  own.accrued = last;
  if (!std::exchange(own.keeps, true)) {
    std::copy_n(own.gradient, own.elements, own.kept);
    return {};
  }
  const void* inputs[] = {own.kept, own.gradient};
  void* outputs[] = {own.kept};
  return run(*own.add, inputs, outputs, {});
}

Status Replica::gather(std::size_t param) {
  Own& own = owned_[param];
  if (!std::exchange(own.keeps, false)) return {};
  const void* inputs[] = {own.kept, own.gradient};
  void* outputs[] = {own.gradient};
  return run(*own.add, inputs, outputs, {});
}

std::optional<Replica::Accrued> Replica::release(std::size_t param) {
  Own& own = owned_[param];
  if (!std::exchange(own.keeps, false)) return {};
  std::copy_n(own.kept, own.elements, own.gradient);
  return own.accrued;
}

} // namespace dlhost::param
