#include "predict/output.h"

#include <algorithm>
#include <set>
#include <utility>

namespace dlhost::predict {
namespace {

// Losses, metrics and tables belong to a batch; a source's output is no prediction.
bool is_of_samples(const net::Node& node, std::size_t port) {
  return !node.source && std::ranges::find(node.setup.metrics, port, &MetricSpec::output) == node.setup.metrics.end();
}

// All outputs with a row for each sample.
std::vector<net::Edge> outputs_of(const net::Graph& graph) {
  std::vector<net::Edge> found;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n)
    for (std::size_t o = 0; o < graph.nodes()[n].setup.outputs.size(); ++o)
      if (is_of_samples(graph.nodes()[n], o)) found.push_back({n, o});
  return found;
}

Result<net::Edge> usual_output(const net::Graph& graph) {
  const auto all = outputs_of(graph);
  for (const net::Edge& edge : all)
    if (name_of(graph, edge).ends_with(":probabilities")) return edge;
  for (const auto& node : graph.nodes())
    if (node.setup.is_loss && !graph.nodes()[node.inputs.at(0).node].source) return node.inputs[0];
  if (all.empty()) return Status::not_found("the net has no output with a row for each sample");
  return all.back();
}

} // namespace

std::string name_of(const net::Graph& graph, const net::Edge& edge) {
  const net::Node& node = graph.nodes()[edge.node];
  return concat(node.name, ":", node.setup.outputs[edge.output].name);
}

Result<net::Edge> find_output(const net::Graph& graph, const std::string& name) {
  if (name.empty()) return usual_output(graph);
  std::string known;
  for (const net::Edge& edge : outputs_of(graph)) {
    const std::string whole = name_of(graph, edge);
    if (name == whole || name == graph.nodes()[edge.node].name) return edge;
    known += concat(known.empty() ? "" : ", ", whole);
  }
  return Status::not_found("the net has no output '", name, "' with a row for each sample; it has: ", known);
}

void keep_what_makes(const std::string& layer, config::Job& job) {
  std::set<std::string> needed{layer};
  for (bool found = true; std::exchange(found, false);)
    for (const auto& one : job.layers)
      if (needed.contains(one.name))
        for (const auto& source : one.src) found |= needed.insert(source.layer).second;
  std::erase_if(job.layers, [&](const config::Layer& one) { return !needed.contains(one.name); });
}

} // namespace dlhost::predict
