#include "param/store.h"

#include <algorithm>

#include "param/transfer.h"

namespace dlhost::param {

namespace {

std::unique_ptr<State> state_of(std::string name, const BufferSpec& spec) {
  auto state = std::make_unique<State>();
  state->name = std::move(name);
  state->desc = spec.desc;
  state->merge = spec.merge;
  state->initial = spec.initial;
  return state;
}

} // namespace

Result<Param*> Store::declare(const Declaration& declaration) {
  if (Param* known = find(declaration.name)) {
    if (known->declared.shape != declaration.shape)
      return Status::invalid("param '", declaration.name, "' is shared, but is ", to_string(known->declared.shape),
                             " in one layer and ", to_string(declaration.shape),
                             " in another; shared params need one shape");
    known->declared.frozen = known->declared.frozen && declaration.frozen;
    return known;
  }
  auto param = std::make_unique<Param>();
  param->declared = declaration;
  param->number = params_.size();
  param->master = {DType::f32, declaration.shape, Format::any()};
  if (const auto preferred = preferred_.find(declaration.name); preferred != preferred_.end()) {
    DLHOST_ASSIGN(param->master.format, device_.format_named(param->master.as(Format::plain()), preferred->second));
  }
  params_.push_back(std::move(param));
  return params_.back().get();
}

void Store::settle(Param& param, const TensorDesc& gradient) {
  if (param.master.format.is_any()) param.master = gradient.as(DType::f32);
}

Copy& Store::use(Param& param, const TensorDesc& desc, bool eager) {
  for (auto& copy : param.copies)
    if (copy->desc == desc) {
      copy->eager = copy->eager || eager;
      return *copy;
    }
  param.copies.push_back(std::make_unique<Copy>());
  param.copies.back()->desc = desc;
  param.copies.back()->eager = eager;
  return *param.copies.back();
}

Result<State*> Store::declare_state(std::string name, const BufferSpec& spec) {
  const auto known = std::ranges::find(states_, name, [](const auto& state) { return state->name; });
  if (known != states_.end()) {
    if ((*known)->desc == spec.desc) return known->get();
    return Status::internal("state '", name, "' is declared with two shapes; this is a bug in the layer");
  }
  states_.push_back(state_of(std::move(name), spec));
  return states_.back().get();
}

void Store::explain_memory() {
  far_.clear();
  if (device_.traits().host_memory) return;
  const auto explain = [&](const auto& memory) { far_.emplace_back(memory.data(), memory.size()); };
  for (const auto& param : params_) {
    explain(param->value);
    std::ranges::for_each(param->history, explain);
    for (const auto& copy : param->copies)
      if (copy->memory.data()) explain(copy->memory);
  }
  for (const auto* states : {&states_, &carried_})
    for (const auto& state : *states) explain(state->memory);
}

State* Store::declare_carried(std::string name, const BufferSpec& spec) {
  carried_.push_back(state_of(std::move(name), spec));
  return carried_.back().get();
}

void Store::lay_out(const Updater::Rule* rule) {
  for (auto& param : params_) {
    if (param->master.format.is_any()) param->master.format = Format::plain();
    if (rule && !param->declared.frozen) param->slots = std::max(param->slots, rule->history.size());
  }
}

Status Store::allocate(const Updater::Rule* rule) {
  for (auto& param : params_) DLHOST_TRY(allocate(*param, rule).at("param '", param->declared.name, "'"));
  std::size_t scratch = 1;
  for (auto& param : params_)
    for (auto& copy : param->copies)
      if (copy->from_master) scratch = std::max(scratch, copy->from_master->scratch_bytes);
  if (scratch > scratch_.size()) {
    DLHOST_ASSIGN(scratch_, Memory::make(device_, scratch));
  }
  for (auto* states : {&states_, &carried_})
    for (std::size_t s = 0; s < states->size(); ++s) {
      State& state = *(*states)[s];
      const auto lent = lender_ && states == &states_ ? lender_->lend_state(s) : std::span<std::byte>();
      if (!state.memory.data()) DLHOST_TRY(allocate(state, lent).at("state '", state.name, "'"));
    }
  explain_memory();
  return stream_.wait();
}

Status Store::allocate(State& state, std::span<std::byte> lent) {
  if (lent.empty()) {
    DLHOST_ASSIGN(state.memory, Memory::make(device_, device_.bytes(state.desc)));
  } else {
    state.memory = Held(lent);
  }
  if (state.desc.dtype != DType::f32) return device_.fill_zero(stream_, state.memory.data(), state.memory.size());
  const std::vector<float> first(static_cast<std::size_t>(state.desc.count()), state.initial);
  return upload(device_, stream_, first, state.desc, state.memory.data());
}

Result<Held> Store::held(const Param& param, std::size_t which) {
  if (lender_)
    if (const auto lent = lender_->lend(param, which); !lent.empty()) return Held(lent);
  DLHOST_ASSIGN(Memory own, Memory::make(device_, device_.bytes(param.master)));
  return Held(std::move(own));
}

// Also where it lies padded: all of it is cleared first.
Status Store::fill(const Param& param, const Held& memory, float value) {
  DLHOST_TRY(device_.fill_zero(stream_, memory.data(), memory.size()));
  if (value == 0) return {};
  const std::vector<float> values(static_cast<std::size_t>(param.master.count()), value);
  return upload(device_, stream_, values, param.master, memory.data());
}

Status Store::allocate(Param& param, const Updater::Rule* rule) {
  const bool fills = !lender_ || lender_->fills();
  if (!param.value.data()) {
    DLHOST_ASSIGN(param.value, held(param, 0));
    if (fills) DLHOST_TRY(fill(param, param.value, 0));
  }
  while (rule && param.history.size() < param.slots) {
    const std::size_t slot = param.history.size();
    DLHOST_ASSIGN(Held memory, held(param, 1 + slot));
    if (fills) DLHOST_TRY(fill(param, memory, rule->history[slot].initial));
    param.history.push_back(std::move(memory));
  }
  for (auto& copy : param.copies)
    if (!copy->data) DLHOST_TRY(allocate(param, *copy));
  return {};
}

Status Store::allocate(Param& param, Copy& copy) {
  if (copy.desc == param.master) {
    copy.data = param.value.data();
    return {};
  }
  DLHOST_ASSIGN(copy.from_master, device_.prepare(ReorderSpec{param.master, copy.desc}));
  DLHOST_ASSIGN(copy.memory, Memory::make(device_, device_.bytes(copy.desc)));
  DLHOST_TRY(device_.fill_zero(stream_, copy.memory.data(), copy.memory.size()));
  copy.data = copy.memory.data();
  return {};
}

Status Store::set(Param& param, std::span<const float> plain) {
  DLHOST_TRY(upload(device_, stream_, plain, param.master, param.value.data()));
  ++param.version;
  for (auto& copy : param.copies) refresh(param, *copy);
  return {};
}

void Store::move(Param& param, std::span<std::byte> value) {
  param.value = Held(value);
  ++param.version;
  for (auto& copy : param.copies)
    if (!copy->from_master) copy->data = value.data();
}

void Store::refresh(Param& param, Copy& copy) {
  if (!copy.from_master || copy.version == param.version) return;
  copy.from_master->run(stream_, {param.value.data()}, {copy.data}, scratch_.data());
  copy.version = param.version;
}

void Store::refresh_eager(Param& param) {
  for (auto& copy : param.copies)
    if (copy->eager) refresh(param, *copy);
}

Param* Store::find(std::string_view name) {
  const auto found =
      std::ranges::find(params_, name, [](const auto& param) -> const std::string& { return param->declared.name; });
  return found == params_.end() ? nullptr : found->get();
}

std::int64_t Store::elements() const {
  std::int64_t sum = 0;
  for (const auto& param : params_) sum += param->declared.shape.count();
  return sum;
}

std::size_t Store::bytes(const Param& param) const {
  std::size_t sum = device_.bytes(param.master) * (1 + param.slots);
  for (const auto& copy : param.copies)
    if (copy->desc != param.master) sum += device_.bytes(copy->desc);
  return sum;
}

std::size_t Store::bytes() const {
  std::size_t sum = 0;
  for (const auto& param : params_) sum += bytes(*param);
  for (const auto* states : {&states_, &carried_})
    for (const auto& state : *states) sum += device_.bytes(state->desc);
  return sum;
}

std::size_t Store::missing(const Param& param) const {
  std::size_t made = param.value.size();
  for (const auto& slot : param.history) made += slot.size();
  for (const auto& copy : param.copies) made += copy->memory.size();
  return bytes(param) - made;
}

std::size_t Store::missing(const State& state) const { return device_.bytes(state.desc) - state.memory.size(); }

std::size_t Store::lendable() const {
  std::size_t sum = 0;
  for (const auto& param : params_)
    if (!param->value.data()) sum += device_.bytes(param->master) * (1 + param->slots);
  for (const auto& state : states_) sum += missing(*state);
  return sum;
}

std::size_t Store::largest_transfer(bool checkpoints) const {
  std::size_t params = 0, history = 0, largest = 0;
  for (const auto& param : params_) {
    const auto bytes = static_cast<std::size_t>(param->declared.shape.count()) * sizeof(float);
    params += bytes;
    history += bytes * param->slots;
    largest = std::max(largest, bytes);
  }
  return checkpoints ? std::max(params, history) : largest;
}

std::size_t Store::missing() const {
  std::size_t sum = 0;
  for (const auto& param : params_) sum += missing(*param);
  for (const auto* states : {&states_, &carried_})
    for (const auto& state : *states) sum += missing(*state);
  return sum;
}

} // namespace dlhost::param
