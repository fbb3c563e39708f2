#include "param/store/store.h"

#include <algorithm>
#include <utility>

#include "param/store/transfer.h"

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
  const bool plain = apart() || !declaration.parts.empty();
  param->master = {DType::f32, declaration.shape, plain ? Format::plain() : Format::any()};
  if (const auto preferred = preferred_.find(declaration.name); preferred != preferred_.end()) {
    DLHOST_ASSIGN(param->master.format,
                  masters_.device.format_named(param->master.as(Format::plain()), preferred->second));
  }
  params_.push_back(std::move(param));
  return params_.back().get();
}

void Store::settle(Param& param, const TensorDesc& gradient) {
  if (param.master.format.is_any()) param.master = gradient.as(DType::f32);
}

Copy& Store::use(Param& param, const TensorDesc& desc, bool eager, const std::optional<Place>& part) {
  const std::size_t at = part ? static_cast<std::size_t>(part->first) * sizeof(float) : 0;
  for (auto& copy : param.copies)
    if (copy->desc == desc && copy->at == at) {
      copy->eager = copy->eager || eager;
      return *copy;
    }
  param.copies.push_back(std::make_unique<Copy>());
  param.copies.back()->desc = desc;
  param.copies.back()->at = at;
  if (part) param.copies.back()->source = {DType::f32, part->shape, Format::plain()};
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
  if (computing_.device.traits().host_memory) return;
  const auto explain = [&](const auto& memory) { far_.emplace_back(memory.data(), memory.size()); };
  for (const auto& param : params_) {
    if (!apart()) {
      explain(param->value);
      std::ranges::for_each(param->history, explain);
    }
    for (const auto& copy : param->copies)
      for (const Memory* memory : {&copy->memory, &copy->landing})
        if (memory->data()) explain(*memory);
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
    for (auto& copy : param->copies)
      if (copy->source.shape.rank() == 0) copy->source = param->master;
    if (rule && !param->declared.frozen) param->slots = std::max(param->slots, rule->history.size());
  }
}

Status Store::allocate(const Updater::Rule* rule) {
  for (auto& param : params_) DLHOST_TRY(allocate(*param, rule).at("param '", param->declared.name, "'"));
  DLHOST_TRY(allocate_rooms());
  for (auto* states : {&states_, &carried_})
    for (std::size_t s = 0; s < states->size(); ++s) {
      State& state = *(*states)[s];
      const auto lent = lender_ && states == &states_ ? lender_->lend_state(s) : std::span<std::byte>();
      if (!state.memory.data()) DLHOST_TRY(allocate(state, lent).at("state '", state.name, "'"));
    }
  explain_memory();
  return wait();
}

Status Store::wait() {
  DLHOST_TRY(masters_.stream.wait());
  return computing_.stream.wait();
}

// Makes the rooms shared by copies that are converted from masters.
Status Store::allocate_rooms() {
  std::size_t scratch = 1, landing = 0;
  for (auto& param : params_)
    for (auto& copy : param->copies) {
      if (!copy->from_master) continue;
      scratch = std::max(scratch, copy->from_master->scratch_bytes);
      if (!apart()) continue;
      const std::size_t bytes = computing_.device.bytes(copy->source);
      if (!beside_) {
        landing = std::max(landing, bytes);
      } else if (!copy->landing.data()) {
        DLHOST_ASSIGN(copy->landing, Memory::make(computing_.device, bytes));
      }
    }
  const auto grow = [&](Memory& room, std::size_t bytes) -> Status {
    if (bytes <= room.size()) return {};
    DLHOST_ASSIGN(room, Memory::make(computing_.device, bytes));
    return {};
  };
  DLHOST_TRY(grow(scratch_, scratch));
  return grow(landing_, landing);
}

Status Store::allocate(State& state, std::span<std::byte> lent) {
  if (lent.empty()) {
    DLHOST_ASSIGN(state.memory, Memory::make(computing_.device, computing_.device.bytes(state.desc)));
  } else {
    state.memory = Held(lent);
  }
  const auto& [device, stream] = computing_;
  if (state.desc.dtype != DType::f32) return device.fill_zero(stream, state.memory.data(), state.memory.size());
  const std::vector<float> first(static_cast<std::size_t>(state.desc.count()), state.initial);
  return upload(device, stream, first, state.desc, state.memory.data());
}

Result<Held> Store::held(const Param& param, std::size_t which) {
  if (lender_)
    if (const auto lent = lender_->lend(param, which); !lent.empty()) return Held(lent);
  DLHOST_ASSIGN(Memory own, Memory::make(masters_.device, masters_.device.bytes(param.master)));
  return Held(std::move(own));
}

// Padding is cleared too.
Status Store::fill(const Param& param, const Held& memory, float value) {
  DLHOST_TRY(masters_.device.fill_zero(masters_.stream, memory.data(), memory.size()));
  if (value == 0) return {};
  const std::vector<float> values(static_cast<std::size_t>(param.master.count()), value);
  return upload(masters_.device, masters_.stream, values, param.master, memory.data());
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
  const auto& [device, stream] = computing_;
  const bool is_master = copy.desc == copy.source;
  if (is_master && !apart()) {
    copy.data = param.value.data() + copy.at;
    return {};
  }
  if (!is_master) {
    DLHOST_ASSIGN(copy.from_master, device.prepare(ReorderSpec{copy.source, copy.desc}));
  }
  DLHOST_ASSIGN(copy.memory, Memory::make(device, device.bytes(copy.desc)));
  DLHOST_TRY(device.fill_zero(stream, copy.memory.data(), copy.memory.size()));
  copy.data = copy.memory.data();
  return {};
}

Status Store::set(Param& param, std::span<const float> plain) {
  DLHOST_TRY(upload(masters_.device, masters_.stream, plain, param.master, param.value.data()));
  ++param.version;
  for (auto& copy : param.copies) DLHOST_TRY(refresh(param, *copy));
  return landed();
}

void Store::move(Param& param, std::span<std::byte> value) {
  param.value = Held(value);
  ++param.version;
  if (apart()) return;
  for (auto& copy : param.copies)
    if (!copy->from_master) copy->data = value.data() + copy->at;
}

Status Store::refresh(Param& param, Copy& copy) {
  if ((!copy.from_master && !apart()) || copy.version == param.version) return {};
  const void* master = param.value.data() + copy.at;
  if (apart()) {
    DLHOST_TRY(land(param, copy));
    master = beside_ ? copy.landing.data() : landing_.data();
  }
  if (copy.from_master) copy.from_master->run(computing_.stream, {master}, {copy.data}, scratch_.data());
  copy.version = param.version;
  return {};
}

Status Store::land(const Param& param, Copy& copy) {
  const auto& [device, stream] = computing_;
  void* const room = beside_ ? copy.landing.data() : landing_.data();
  void* const here = copy.from_master ? room : copy.data;
  const std::byte* const source = param.value.data() + copy.at;
  const std::size_t bytes = copy.source.plain_bytes();
  if (!beside_) {
    landing_now_ = true;
    return device.copy(stream, here, source, bytes, Direction::from_host);
  }
  Stream& way = *beside_->stream;
  // Second copy in one step: it must wait for the ops given since then, which read the present copy.
  if (std::exchange(copy.landed_in, beside_->step) == beside_->step) DLHOST_TRY(stream.record(*beside_->read));
  DLHOST_TRY(way.wait_for(*beside_->read));
  DLHOST_TRY(device.copy(way, here, source, bytes, Direction::from_host));
  DLHOST_TRY(way.record(*beside_->landed));
  return stream.wait_for(*beside_->landed);
}

Status Store::land_beside() {
  const auto& [device, stream] = computing_;
  Beside beside;
  DLHOST_ASSIGN(beside.stream, device.stream());
  DLHOST_ASSIGN(beside.read, device.event());
  DLHOST_ASSIGN(beside.landed, device.event());
  DLHOST_TRY(stream.record(*beside.read));
  beside_ = std::move(beside);
  return {};
}

Status Store::rests() {
  if (!beside_) return {};
  ++beside_->step;
  return computing_.stream.record(*beside_->read);
}

Status Store::refresh_eager(Param& param) {
  for (auto& copy : param.copies)
    if (copy->eager) DLHOST_TRY(refresh(param, *copy));
  return {};
}

// When it returns, other processes may write the masters that were read.
Status Store::landed() {
  if (!landing_now_) return {};
  landing_now_ = false;
  return computing_.stream.wait();
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

// Copies and, on a single device, the master and its histories.
std::size_t Store::bytes(const Param& param) const {
  std::size_t sum = apart() ? 0 : masters_.device.bytes(param.master) * (1 + param.slots);
  for (const auto& copy : param.copies)
    if (apart() || copy->desc != copy->source) {
      sum += computing_.device.bytes(copy->desc);
      if (beside_ && copy->desc != copy->source) sum += computing_.device.bytes(copy->source);
    }
  return sum;
}

std::size_t Store::bytes() const {
  std::size_t sum = 0;
  for (const auto& param : params_) sum += bytes(*param);
  for (const auto* states : {&states_, &carried_})
    for (const auto& state : *states) sum += computing_.device.bytes(state->desc);
  return sum;
}

std::size_t Store::missing(const Param& param) const {
  std::size_t made = 0;
  if (!apart()) {
    made += param.value.size();
    for (const auto& slot : param.history) made += slot.size();
  }
  for (const auto& copy : param.copies) made += copy->memory.size() + copy->landing.size();
  return bytes(param) - made;
}

std::size_t Store::missing(const State& state) const {
  return computing_.device.bytes(state.desc) - state.memory.size();
}

std::size_t Store::lendable() const {
  if (apart()) return 0; // masters count as lent memory; running state is not lent then
  std::size_t sum = 0;
  for (const auto& param : params_)
    if (!param->value.data()) sum += masters_.device.bytes(param->master) * (1 + param->slots);
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
