#include "net/fusion.h"

namespace dlhost::net {
namespace {

// The node that alone reads output 0 of `node`, if there is just one reader.
std::optional<std::size_t> sole_reader(const Node& node) {
  if (node.readers.size() != 1 || node.readers[0].size() != 1) return {};
  return node.readers[0][0].node;
}

// A pointwise whose gradient needs its input loses that when it is fused.
bool can_fuse_pointwise(const Node& node, bool training) {
  return node.setup.pointwise && (node.setup.pointwise->from_output || !training || !node.needs_gradient);
}

} // namespace

std::vector<Fusion> find_fusions(const Graph& graph, bool training) {
  const auto& nodes = graph.nodes();
  std::vector<Fusion> fusions;
  std::vector<bool> taken(nodes.size());
  // From the last node down, so that of a sum's two producers the later one, which then has its addend, takes it.
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const Node& producer = nodes[i];
    if (producer.source || producer.setup.is_view || producer.setup.host || producer.setup.pointwise ||
        producer.setup.is_sum)
      continue;
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
    // The producer's own gradient must not need the output that is now something else's input only.
    if (training && producer.setup.reads.outputs) continue;
    if (fusion.add) taken[*fusion.add] = true;
    if (fusion.pointwise) taken[*fusion.pointwise] = true;
    fusions.push_back(fusion);
  }
  return fusions;
}

} // namespace dlhost::net
