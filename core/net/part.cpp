#include "net/part.h"

namespace dlhost::net {

std::vector<NodePart> whole_parts(const Graph& graph) {
  std::vector<NodePart> parts;
  for (const Node& node : graph.nodes()) {
    NodePart& part = parts.emplace_back(NodePart{.rows = graph.batch()});
    for (const Port& output : node.setup.outputs) part.outputs.push_back(output.desc);
    part.counts.assign(part.outputs.size(), true);
    for (const ParamUse& param : node.params) part.params.push_back(param.spec.shape);
    for (const BufferSpec& buffer : node.setup.buffers) part.buffers.push_back(buffer.desc);
  }
  return parts;
}

} // namespace dlhost::net
