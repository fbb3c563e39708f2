#include "program/build/transfers.h"

#include <algorithm>

#include <fmt/format.h>

namespace dlhost::program {
namespace {

// The place of a box within the box that holds it.
Shape within(const net::Box& box, const net::Box& holder) {
  Shape at;
  for (std::size_t axis = 0; axis < box.first.rank(); ++axis) at.push_back(box.first[axis] - holder.first[axis]);
  return at;
}

} // namespace

Transfers::Transfers(const BuildRequest& request, const Bridges& bridges, Slots& slots, StepList& steps)
    : request_(request), bridges_(bridges), slots_(slots), steps_(steps),
      places_(*request.graph, request.part.connectors, request.record.frames) {}

LentMemory Transfers::lent_memory() const {
  LentMemory lent{.bytes = places_.bytes(), .transfers = std::vector<std::string>(places_.transfers())};
  for (std::size_t c = 0; c < request_.part.connectors.size(); ++c) {
    const net::Edge& source = request_.part.connectors[c].source;
    const net::Node& node = request_.graph->nodes()[source.node];
    for (int frame = 0; frame < request_.record.frames; ++frame)
      for (const auto& [kind, words] : {std::pair(TransferKind::features, "the features of"),
                                        std::pair(TransferKind::gathered_features, "the summed features of"),
                                        std::pair(TransferKind::gradients, "the gradient of"),
                                        std::pair(TransferKind::gathered_gradients, "the summed gradient of")})
        lent.transfers[places_.number(c, kind, frame)] = fmt::format(
            "{} layer '{}'{}{}", words, node.name, source.output > 0 ? fmt::format(" (output {})", source.output) : "",
            request_.record.frames > 1 ? fmt::format(" in frame {}", frame) : "");
  }
  return lent;
}

Transfers::Way Transfers::way(std::size_t connector, TransferKind kind) const {
  const plan::Connector& of = request_.part.connectors[connector];
  switch (kind) {
  case TransferKind::features: return {of.from, of.to, of.feature_moves, false};
  case TransferKind::gathered_features: return {of.to, of.to, of.feature_moves, true};
  case TransferKind::gradients: return {of.gradient_from, of.gradient_to, of.gradient_moves, false};
  case TransferKind::gathered_gradients: break;
  }
  return {of.gradient_to, of.gradient_to, of.gradient_moves, true};
}

Result<const std::vector<Borrowing::Box>*> Transfers::boxes(std::size_t connector, TransferKind kind) {
  const auto [at, is_new] = boxes_.try_emplace({connector, kind});
  if (!is_new) return &at->second;
  const Way way = this->way(connector, kind);
  const std::uint32_t rank = request_.part.rank;
  const net::Edge& source = request_.part.connectors[connector].source;
  const DType dtype = request_.graph->nodes()[source.node].setup.outputs[source.output].desc.dtype;
  std::map<std::uint32_t, std::size_t> last;
  for (const net::Move& move : way.moves) {
    if (move.to != rank || move.gathers != way.gathers) continue;
    const net::Box &from = way.from.of(move.from).box, &to = way.to.of(rank).box;
    DLHOST_ASSIGN(auto op, request_.device->prepare(BoxSpec{.src = {dtype, from.shape, Format::plain()},
                                                            .dst = {dtype, to.shape, Format::plain()},
                                                            .from = within(move.box, from),
                                                            .to = within(move.box, to),
                                                            .box = move.box.shape,
                                                            .add = move.adds}));
    if (const auto before = last.find(move.from); before != last.end()) at->second[before->second].last = false;
    last[move.from] = at->second.size();
    at->second.push_back({.worker = move.from, .op = op.get()});
    ops_.push_back(std::move(op));
  }
  return &at->second;
}

Result<SlotId> Transfers::lent(SlotId slot, std::size_t place) {
  Slot& root = slots_[slots_.root(slot)];
  if (root.lent_at == place) return slot;
  if (!root.external && !root.shared && root.lent_at == Slot::not_lent &&
      root.bytes == slots_[slot].desc.plain_bytes()) {
    root.lent_at = place;
    return slot;
  }
  const auto [known, is_new] = copies_.try_emplace({slot, place});
  if (!is_new) return known->second;
  const TensorDesc desc = slots_[slot].desc;
  const SlotId copy = known->second = slots_.add(desc, false);
  slots_[copy].lent_at = place;
  steps_.push(Call{.in = {slot}, .out = copy, .bytes = desc.plain_bytes(), .what = "lend"});
  return copy;
}

Status Transfers::lend(std::size_t connector, TransferKind kind, int frame, SlotId slot) {
  const Way way = this->way(connector, kind);
  const std::uint32_t rank = request_.part.rank;
  Loan loan{.transfer = places_.number(connector, kind, frame)};
  for (const net::Move& move : way.moves)
    if (move.from == rank && move.to != rank && move.gathers == way.gathers &&
        std::ranges::find(loan.to, move.to) == loan.to.end())
      loan.to.push_back(move.to);
  if (loan.to.empty()) return {};
  DLHOST_ASSIGN(loan.slot, lent(slot, places_.at(loan.transfer, rank)));
  steps_.touch(loan.slot);
  steps_.push({.act = Act::lend, .index = static_cast<std::uint32_t>(loans_.size())});
  loans_.push_back(std::move(loan));
  return {};
}

Status Transfers::borrow(std::size_t connector, TransferKind kind, int frame, SlotId own, SlotId to) {
  DLHOST_ASSIGN(const auto* boxes, this->boxes(connector, kind));
  if (boxes->empty()) return {};
  Borrowing borrowing{.transfer = places_.number(connector, kind, frame), .own = own, .to = to, .boxes = *boxes};
  for (Borrowing::Box& box : borrowing.boxes)
    if (box.worker != request_.part.rank) box.place = places_.at(borrowing.transfer, box.worker);
  steps_.touch(own);
  steps_.touch(to);
  steps_.push({.act = Act::borrow, .index = static_cast<std::uint32_t>(borrowings_.size())});
  borrowings_.push_back(std::move(borrowing));
  return {};
}

Status Transfers::borrow_all(std::size_t connector, TransferKind kind, TransferKind gathered, int frame, SlotId own,
                             SlotId to) {
  DLHOST_TRY(borrow(connector, kind, frame, own, to));
  DLHOST_TRY(lend(connector, gathered, frame, to));
  return borrow(connector, gathered, frame, to, to);
}

Status Transfers::lend_features(std::size_t node, int frame) {
  const auto connectors = bridges_.of_outputs(node);
  if (connectors.empty()) return {};
  if (!lent_.insert({node, frame}).second)
    return Status::unsupported(
        "the algorithm makes the features of layer '", request_.graph->nodes()[node].name,
        "' twice in one frame, and they go to other workers; a second sweep needs its own frame");
  for (const std::size_t c : connectors)
    DLHOST_TRY(lend(c, TransferKind::features, frame, slots_.in_frame(bridges_.all()[c].made, frame)));
  return {};
}

Result<std::vector<SlotId>> Transfers::borrow_features(std::size_t node, int frame) {
  std::vector<SlotId> borrowed;
  for (const std::size_t c : bridges_.of_inputs(node)) {
    if (!borrowed_.insert({c, frame}).second) continue;
    const Bridge& bridge = bridges_.all()[c];
    const plan::Connector& connector = request_.part.connectors[c];
    if (connector.from != connector.to)
      DLHOST_TRY(borrow_all(c, TransferKind::features, TransferKind::gathered_features, frame,
                            slots_.in_frame(bridge.made, frame), slots_.in_frame(bridge.wanted, frame)));
    if (bridge.wanted != no_slot) borrowed.push_back(bridge.wanted);
  }
  return borrowed;
}

Status Transfers::pass_gradients(std::size_t node, int frame, const std::vector<bool>& reached,
                                 FeatureGradients& gradients) {
  const auto connectors = bridges_.of_outputs(node);
  if (connectors.empty() || !passed_.insert({node, frame}).second) return {};
  for (const std::size_t c : connectors) {
    const plan::Connector& connector = request_.part.connectors[c];
    if (!connector.learns || !reached[connector.source.output]) continue;
    const Bridge& bridge = bridges_.all()[c];
    SlotId sum = no_slot, received = no_slot;
    if (bridge.wanted != no_slot) {
      DLHOST_ASSIGN(sum, gradients.sum(slots_.in_frame(bridge.wanted, frame), frame));
    }
    if (connector.gradient_from == connector.gradient_to) { // only features go
      if (sum != no_slot) gradients.add(slots_.in_frame(bridge.made, frame), sum);
      continue;
    }
    if (bridge.made != no_slot) received = slots_.add(TensorDesc(slots_[bridge.made].desc), false);
    DLHOST_TRY(lend(c, TransferKind::gradients, frame, sum));
    DLHOST_TRY(borrow_all(c, TransferKind::gradients, TransferKind::gathered_gradients, frame, sum, received));
    if (received != no_slot) gradients.add(slots_.in_frame(bridge.made, frame), received);
  }
  return {};
}

} // namespace dlhost::program
