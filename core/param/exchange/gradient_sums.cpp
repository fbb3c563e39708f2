#include "param/exchange/gradient_sums.h"

#include <algorithm>
#include <array>

#include "param/store/rule_op.h"

namespace dlhost::param {

std::size_t GradientSums::bytes(const RowExchange::Part& part, const Slices& slices, std::uint32_t server) {
  std::size_t bytes = 0;
  for (const Slice& slice : slices.all())
    if (slice.server == server) RowExchange::add_bytes(part, slice, RowExchange::turns(slice), bytes);
  return bytes;
}

Result<std::unique_ptr<GradientSums>> GradientSums::make(Neighbours neighbours, Store& store,
                                                         std::span<const Slice* const> owned,
                                                         std::size_t contributions) {
  std::unique_ptr<GradientSums> sums(new GradientSums(std::move(neighbours), store));
  for (const Slice* slice : owned) DLHOST_TRY(sums->add(*slice, contributions));
  std::size_t scratch = 1;
  for (const auto& ops : sums->ops_)
    for (const auto& op : ops) scratch = std::max(scratch, op->scratch_bytes);
  DLHOST_ASSIGN(sums->scratch_, Memory::make(store.device(), scratch));
  sums->inputs_.resize(contributions);
  return sums;
}

Status GradientSums::add(const Slice& slice, std::size_t contributions) {
  DLHOST_ASSIGN(auto row, RowExchange::join(neighbours_, slice,
                                            RowExchange::rows(neighbours_, slice, RowExchange::turns(slice))));
  rows_.push_back(std::move(row));
  states_.push_back(State::idle);
  const TensorDesc whole{DType::f32, {slice.count}, Format::plain()};
  auto& ops = ops_.emplace_back();
  for (std::size_t gradients = 1; gradients <= contributions; ++gradients) {
    DLHOST_ASSIGN(ops.emplace_back(), store_.device().prepare(MapSpec{.expression = weighted_sum(gradients),
                                                                      .in = std::vector<TensorDesc>(gradients, whole),
                                                                      .out = {whole},
                                                                      .keeps_zeros = true}));
  }
  return {};
}

void GradientSums::begin() {
  for (RowExchange& row : rows_) row.reset();
  std::ranges::fill(states_, State::idle);
}

Status GradientSums::start(std::size_t which, Version version, std::span<const float* const> gradients, float weight) {
  states_[which] = State::on;
  std::copy(gradients.begin(), gradients.end(), inputs_.begin());
  const std::array<void*, 1> out{rows_[which].next_begun().data()};
  const std::array<float, 1> scalars{weight};
  ops_[which][gradients.size() - 1]->execute(store_.stream(), std::span(inputs_).first(gradients.size()), out,
                                             scratch_.data(), {.scalars = scalars});
  DLHOST_TRY(store_.stream().wait());
  return rows_[which].start(version);
}

Status GradientSums::take(std::size_t which, std::uint32_t from, const ToNeighbour& message) {
  RowExchange& row = rows_[which];
  const auto rank = neighbours_.rank_of(from);
  const auto refuse = [&](const auto&) { return does_not_fit(message, from, row.number()); };
  if (!rank) return refuse(message);
  return dispatch(
      message, refuse, [&](const to_neighbour::Part& part) { return row.hear(part, *rank); },
      [&](const to_neighbour::Taken& taken) { return row.hear(taken, *rank); });
}

const float* GradientSums::take_sum(std::size_t which) {
  states_[which] = State::idle;
  return rows_[which].made().data();
}

} // namespace dlhost::param
