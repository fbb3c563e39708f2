#include "cli/check_plan.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "env/json_text.h"
#include "plan/partition.h"

namespace dlhost::cli {
namespace {

using plan::Connector;
using plan::Partition;

std::string mib(std::int64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / static_cast<double>(1 << 20));
}

std::string source_of(const net::Graph& graph, const Connector& connector) {
  const net::Node& node = graph.nodes()[connector.source.node];
  return connector.source.output == 0 ? node.name
                                      : concat(node.name, ":", node.setup.outputs[connector.source.output].name);
}

std::vector<std::string> readers_of(const net::Graph& graph, const Connector& connector) {
  std::vector<std::string> names;
  for (const auto& reader : connector.readers) names.push_back(graph.nodes()[reader.node].name);
  return names;
}

// What each worker has of all features and of all params, in bytes; gradients aside.
std::vector<std::int64_t> held_features(const net::Graph& graph, const Partition& partition, std::size_t workers) {
  std::vector<std::int64_t> held(workers);
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const auto& outputs = graph.nodes()[n].setup.outputs;
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const net::Form form = partition.layers[n].pieces.made(outputs[o].desc.shape, o);
      for (std::uint32_t w = 0; w < workers; ++w)
        held[w] += form.of(w).box.count() * static_cast<std::int64_t>(size_of(outputs[o].desc.dtype));
    }
  }
  return held;
}

std::vector<std::int64_t> held_params(const Partition& partition, std::size_t workers) {
  std::vector<std::int64_t> held(workers);
  for (const auto& param : partition.params)
    for (std::uint32_t w = 0; w < workers; ++w)
      held[w] += param.value.of(w).box.count() * static_cast<std::int64_t>(sizeof(float));
  return held;
}

void print_parts(const net::Graph& graph, const Partition& partition) {
  std::size_t name = 5, scheme = 9, output = 6;
  const auto shape_of = [](const net::Node& node) {
    return node.setup.outputs.empty() ? std::string() : to_string(node.setup.outputs[0].desc.shape);
  };
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    name = std::max(name, graph.nodes()[n].name.size());
    scheme = std::max(scheme, partition.layers[n].scheme.size());
    output = std::max(output, shape_of(graph.nodes()[n]).size());
  }
  fmt::print("{:<{}}  {:<{}}  {:<{}}  {}\n", "layer", name, "partition", scheme, "output", output,
             "each worker's part");
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const net::Node& node = graph.nodes()[n];
    std::string parts;
    if (!node.setup.outputs.empty())
      parts = to_string(partition.layers[n].pieces.made(node.setup.outputs[0].desc.shape, 0));
    fmt::print("{:<{}}  {:<{}}  {:<{}}  {}\n", node.name, name, partition.layers[n].scheme, scheme, shape_of(node),
               output, parts);
  }
}

void print_connectors(const net::Graph& graph, const Partition& partition) {
  if (partition.connectors.empty()) return;
  std::size_t source = 4, to = 2;
  for (const auto& connector : partition.connectors) {
    source = std::max(source, source_of(graph, connector).size());
    to = std::max(to, fmt::format("{}", fmt::join(readers_of(graph, connector), ", ")).size());
  }
  fmt::print("\n{:<9}  {:<{}}  {:<{}}  {:<38}  {:>10}\n", "connector", "from", source, "to", to, "features",
             "MiB a step");
  for (const auto& connector : partition.connectors)
    fmt::print("{:<9}  {:<{}}  {:<{}}  {:<38}  {:>10}\n", connector.name, source_of(graph, connector), source,
               fmt::format("{}", fmt::join(readers_of(graph, connector), ", ")), to,
               fmt::format("{} -> {}", to_string(connector.from), to_string(connector.to)),
               mib(connector.crossing.total));
}

void print_plan_text(const net::Graph& graph, const Partition& partition) {
  const std::size_t workers = partition.features.sent.size();
  print_parts(graph, partition);
  print_connectors(graph, partition);
  fmt::print("\ncrosses     {} MiB a step: {} of features and their gradients, {} of params and theirs\n",
             mib(partition.features.total + partition.param_bytes.total), mib(partition.features.total),
             mib(partition.param_bytes.total));
  fmt::print("\n{:<6}  {:>10}  {:>10}  {:>10}  {:>10}\n", "worker", "params", "features", "sends", "receives");
  const auto features = held_features(graph, partition, workers), params = held_params(partition, workers);
  for (std::size_t w = 0; w < workers; ++w)
    fmt::print("{:<6}  {:>10}  {:>10}  {:>10}  {:>10}\n", w, mib(params[w]), mib(features[w]),
               mib(partition.features.sent[w] + partition.param_bytes.sent[w]),
               mib(partition.features.received[w] + partition.param_bytes.received[w]));
  fmt::print("\nMiB; features without their gradients, as if none shared its place.\n");
}

nlohmann::json crossing_json(const plan::Crossing& crossing) {
  return {{"bytes", crossing.total}, {"sent", crossing.sent}, {"received", crossing.received}};
}

void print_plan_json(const net::Graph& graph, const Partition& partition) {
  const std::size_t workers = partition.features.sent.size();
  nlohmann::json layers = nlohmann::json::array(), connectors = layers, params = layers;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    nlohmann::json outputs = nlohmann::json::array();
    for (std::size_t o = 0; o < graph.nodes()[n].setup.outputs.size(); ++o)
      outputs.push_back(to_string(partition.layers[n].pieces.made(graph.nodes()[n].setup.outputs[o].desc.shape, o)));
    layers.push_back(
        {{"name", graph.nodes()[n].name}, {"partition", partition.layers[n].scheme}, {"outputs", outputs}});
  }
  for (const auto& connector : partition.connectors)
    connectors.push_back({{"name", connector.name},
                          {"from", source_of(graph, connector)},
                          {"to", readers_of(graph, connector)},
                          {"before", to_string(connector.from)},
                          {"after", to_string(connector.to)},
                          {"crossing", crossing_json(connector.crossing)}});
  for (const auto& param : partition.params)
    params.push_back({{"name", param.name},
                      {"gradient", to_string(param.gradient)},
                      {"value", to_string(param.value)},
                      {"crossing", crossing_json(param.crossing)}});
  const nlohmann::json plan = {{"workers", workers},
                               {"layers", layers},
                               {"connectors", connectors},
                               {"params", params},
                               {"features", crossing_json(partition.features)},
                               {"param_exchange", crossing_json(partition.param_bytes)},
                               {"held_params", held_params(partition, workers)},
                               {"held_features", held_features(graph, partition, workers)}};
  fmt::print("{}\n", env::json_text(plan, 2));
}

} // namespace

Status print_plan(run::Session& session, bool json) {
  DLHOST_ASSIGN(const auto graph, session.whole_net());
  config::Problems problems;
  const auto partition = Partition::of(*graph, session.job(), plan::Place::bounds_of_rows(session.job()), problems);
  DLHOST_TRY(problems.status());
  json ? print_plan_json(*graph, *partition) : print_plan_text(*graph, *partition);
  return {};
}

} // namespace dlhost::cli
