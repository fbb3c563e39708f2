#include "program/build/lent_places.h"

namespace dlhost::program {
namespace {

bool same(const net::Edge& a, const net::Edge& b) { return a.node == b.node && a.output == b.output; }

} // namespace

LentPlaces::LentPlaces(const net::Graph& graph, const std::vector<plan::Connector>& connectors, int frames)
    : frames_(frames) {
  if (connectors.empty()) return;
  bytes_.resize(connectors[0].from.workers());
  places_.assign(connectors.size() * transfer_kinds * static_cast<std::size_t>(frames),
                 std::vector<std::size_t>(bytes_.size(), none));
  for (int frame = 0; frame < frames; ++frame)
    for (std::size_t c = 0; c < connectors.size(); ++c) {
      const plan::Connector& connector = connectors[c];
      const net::Edge& source = connector.source;
      const std::size_t element = size_of(graph.nodes()[source.node].setup.outputs[source.output].desc.dtype);
      const auto number = [&](TransferKind kind) { return this->number(c, kind, frame); };
      // Connectors of one source follow one another.
      if (c > 0 && same(connectors[c - 1].source, source))
        places_[number(TransferKind::features)] = places_[this->number(c - 1, TransferKind::features, frame)];
      add(number(TransferKind::features), connector.from, connector.feature_moves, false, element);
      add(number(TransferKind::gathered_features), connector.to, connector.feature_moves, true, element);
      add(number(TransferKind::gradients), connector.gradient_from, connector.gradient_moves, false, element);
      add(number(TransferKind::gathered_gradients), connector.gradient_to, connector.gradient_moves, true, element);
    }
}

void LentPlaces::add(std::uint32_t transfer, const net::Form& lent, const std::vector<net::Move>& moves, bool gathers,
                     std::size_t element_bytes) {
  for (const net::Move& move : moves) {
    if (move.gathers != gathers || move.from == move.to) continue;
    std::size_t& place = places_[transfer][move.from];
    if (place != none) continue;
    place = bytes_[move.from];
    const std::size_t bytes = static_cast<std::size_t>(lent.of(move.from).box.count()) * element_bytes;
    bytes_[move.from] += (bytes + alignment - 1) / alignment * alignment;
  }
}

} // namespace dlhost::program
