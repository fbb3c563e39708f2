#include "net/fusion.h"

#include <dlhost/status.h>

namespace dlhost::net {
namespace {

// The reader of the node's output 0, if it is the node's only output and reader.
std::optional<std::size_t> sole_reader(const Node& node) {
  if (node.readers.size() != 1 || node.readers[0].size() != 1) return {};
  return node.readers[0][0].node;
}

// A fused pointwise has no input to read, so its gradient must not need the input.
bool can_fuse_pointwise(const Node& node, bool training) {
  return node.setup.pointwise && (node.setup.pointwise->from_output || !training || !node.needs_gradient);
}

// Whether the node has no op that could take an epilogue, on any device.
bool takes_none(const Node& node) {
  return node.source || node.setup.is_view || node.setup.host || node.setup.pointwise || node.setup.is_sum;
}

} // namespace

std::string why_apart(const Graph& graph, std::size_t node, bool training) {
  const auto& nodes = graph.nodes();
  const Node& apart = nodes[node];
  if ((!apart.setup.pointwise && !apart.setup.is_sum) || apart.inputs.empty()) return {};
  if (apart.setup.is_sum && apart.inputs.size() != 2) return "by itself: sums of two only go into an op";
  if (apart.setup.pointwise && !can_fuse_pointwise(apart, training))
    return "by itself: its gradient needs its input, which fusing would remove";
  std::string reasons;
  for (const Edge& edge : apart.inputs) {
    const Node& producer = nodes[edge.node];
    const std::string reason = takes_none(producer)                       ? "has no op that could do it as well"
                               : sole_reader(producer) != node            ? "is read by other layers, too"
                               : training && producer.setup.reads.outputs ? "needs its own output for its gradient"
                                                                          : "";
    if (!reason.empty()) reasons += concat(reasons.empty() ? "" : "; ", "'", producer.name, "' ", reason);
  }
  return reasons.empty() ? "" : concat("by itself: ", reasons);
}

std::vector<Fusion> find_fusions(const Graph& graph, bool training) {
  const auto& nodes = graph.nodes();
  std::vector<Fusion> fusions;
  std::vector<bool> taken(nodes.size());
  // From the last node down: of a sum's two producers the later one takes the sum, because its addend exists by then.
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const Node& producer = nodes[i];
    if (takes_none(producer)) continue;
    auto next = sole_reader(producer);
    if (!next || taken[*next]) continue;
    Fusion fusion{.producer = i};
    if (const Node& sum = nodes[*next]; sum.setup.is_sum && sum.inputs.size() == 2) {
      fusion.addend_input = sum.inputs[0].node == i ? 1 : 0;
      const auto& addend = sum.inputs[fusion.addend_input];
      const bool same = nodes[addend.node].setup.outputs[addend.output].desc == producer.setup.outputs[0].desc;
      if (!same || addend.node >= i) continue;
      fusion.add = *next;
      const auto behind = sole_reader(sum);
      next = behind && !taken[*behind] ? behind : std::nullopt;
    }
    if (next && can_fuse_pointwise(nodes[*next], training)) fusion.pointwise = *next;
    if (!fusion.add && !fusion.pointwise) continue;
    // After fusion the producer's own output is never stored, so its gradient must not need it.
    if (training && producer.setup.reads.outputs) continue;
    if (fusion.add) taken[*fusion.add] = true;
    if (fusion.pointwise) taken[*fusion.pointwise] = true;
    fusions.push_back(fusion);
  }
  return fusions;
}

} // namespace dlhost::net
