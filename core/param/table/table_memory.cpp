#include "param/table/table_memory.h"

namespace dlhost::param {

std::size_t take_lines(std::size_t& end, std::size_t bytes) {
  constexpr std::size_t line = 64;
  const std::size_t at = end;
  end += (bytes + line - 1) / line * line;
  return at;
}

Masters::Masters(const Store& store, const Copies& copies) : copies_(copies) {
  for (const auto& param : store.params()) {
    Places places;
    places.bytes = store.device().bytes(param->master);
    places.slots = param->slots;
    const auto take = [&](std::vector<std::size_t>& into, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) into.push_back(take_lines(bytes_, places.bytes));
    };
    const std::size_t values = copies.values_of.empty() ? copies.values : copies.values_of[param->number];
    take(places.values, param->updated ? values : 1);
    take(places.history, param->slots * (param->updated ? copies.histories : 1));
    take(places.shared, param->updated ? copies.shared : 0);
    params_.push_back(std::move(places));
  }
}

void Masters::lie_at(std::span<std::byte> memory, bool fills) {
  memory_ = memory.first(bytes_);
  fills_ = fills;
}

// What was declared later, by a net that only evaluates, is nobody else's.
std::span<std::byte> Masters::lend(const Param& param, std::size_t which) {
  if (param.number >= params_.size()) return {};
  const Places& places = params_[param.number];
  return at(places, which == 0 ? places.values.front() : places.history.at(which - 1));
}

std::span<std::byte> Masters::value(std::size_t param, std::size_t version) const {
  const Places& places = params_[param];
  return at(places, places.values.at(version));
}

std::span<std::byte> Masters::history(std::size_t param, std::size_t slot, std::size_t copy) const {
  const Places& places = params_[param];
  return at(places, places.history.at(copy * places.slots + slot));
}

std::span<std::byte> Masters::shared(std::size_t param, std::size_t row) const {
  const Places& places = params_[param];
  return at(places, places.shared.at(row));
}

Gradients::Gradients(const Store& store) {
  for (const auto& param : store.params()) {
    const std::size_t bytes = param->updated ? store.device().bytes(param->master) : 0;
    elements_.push_back(static_cast<std::int64_t>(bytes / size_of(param->master.dtype)));
    const bool factored = param->updated && param->factors;
    pieces_.push_back(factored ? param->pieces.elements : 1);
    offsets_.push_back(take_lines(bytes_, factored ? param->factors->bytes() : bytes));
  }
}

ReplicaPlaces::ReplicaPlaces(const Store& store, std::size_t begin, bool accrues) : end_(begin) {
  for (const auto& param : store.params()) {
    Places& places = params_.emplace_back();
    if (!param->updated) continue;
    places.bytes = store.device().bytes(param->master);
    places.value = take_lines(end_, places.bytes);
    for (std::size_t slot = 0; slot < param->slots; ++slot) places.history.push_back(take_lines(end_, places.bytes));
    if (accrues) places.accrued = take_lines(end_, places.bytes);
  }
}

} // namespace dlhost::param
