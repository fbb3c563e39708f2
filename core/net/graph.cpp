#include "net/graph.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dlhost/nearest.h>

#include "net/extent.h"
#include "net/order.h"
#include "plugin/contained.h"

namespace dlhost::net {
namespace {

class Builder {
 public:
  Builder(const Graph::Request& request, std::vector<Node>& nodes, config::Problems& problems)
      : request_(request), nodes_(nodes), problems_(problems) {}

  // Returns whether the net has no errors.
  bool build() {
    choose();
    connect();
    sort();
    if (request_.batch > 0)
      for (std::size_t i = 0; i < nodes_.size(); ++i) set_up(i);
    if (whole()) close_cycles();
    share_params();
    if (!whole()) return false;
    find_gradients();
    return true;
  }

 private:
  const config::Layer& config(std::size_t node) const { return *configs_[node]; }

  bool whole() const {
    return std::ranges::none_of(nodes_, [&](const Node& node) {
      return !node.layer || node.setup.batch == 0 || problems_.refused_layer(node.name);
    });
  }

  // Makes the layers of this phase; set_up() follows later.
  void choose() {
    std::uint32_t stream = 0;
    for (const auto& layer : request_.job->layers) {
      ++stream;
      if (!layer.in(request_.phase)) continue;
      Node node;
      node.name = layer.name;
      node.type = layer.type;
      node.where = layer.where;
      if (auto actor = request_.registry->actor(Kind::layer, layer.type, layer.name); actor.ok()) node.actor = *actor;
      node.draw_stream = stream;
      if (!problems_.refused_layer(layer.name)) make(node, layer);
      configs_.push_back(&layer);
      nodes_.push_back(std::move(node));
    }
  }

  void make(Node& node, const config::Layer& layer) {
    if (auto found = request_.sources->find(layer.name); found != request_.sources->end()) {
      node.source = found->second.source;
      node.layer = node.source;
    } else if (!layer.src.empty()) {
      auto made = request_.registry->create<Layer>(layer.type, layer.options);
      if (!made.ok()) return problems_.of_layer(layer.name, layer.where, made.status().message());
      node.owned = *std::move(made);
      node.layer = node.owned.get();
    }
  }

  void connect() {
    std::map<std::string, std::size_t, std::less<>> index;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      index[nodes_[i].name] = i;
      names.push_back(nodes_[i].name);
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      for (const auto& src : config(i).src)
        if (const auto found = index.find(src.layer); found != index.end())
          nodes_[i].inputs.push_back({found->second, 0}); // the port is resolved when the source is set up
        else
          not_here(nodes_[i], src, names);
  }

  void not_here(Node& node, const config::Source& src, std::span<const std::string> names) {
    forget(node);
    if (!request_.job->layer(src.layer) || problems_.refused_layer(src.layer) || problems_.refused_layer(node.name))
      return;
    problems_.of_layer(node.name, src.where,
                       fmt::format("its source '{}' does not exist in this phase; give both the same phases, or {}",
                                   src.layer, problems_.suggest(src.layer, names)));
  }

  void sort() {
    std::vector<std::vector<std::size_t>> below(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      for (const auto& edge : nodes_[i].inputs) below[i].push_back(edge.node);
    auto order = feature_order(below);
    while (!order.cycle.empty() && !request_.cyclic.value_or(false)) {
      if (request_.cyclic) refuse_cycle(order.cycle);
      for (const auto i : order.cycle) {
        forget(nodes_[i]);
        below[i].clear();
      }
      order = feature_order(below); // finds further cycles
    }
    rearrange(order.nodes);
  }

  // Reports a cycle, unless one of its layers is wrong itself: then that may be the cause, such as two layers of one
  // name.
  void refuse_cycle(const std::vector<std::size_t>& cycle) {
    if (std::ranges::any_of(cycle, [&](std::size_t i) { return problems_.refused_layer(nodes_[i].name); })) return;
    const Node& first = nodes_[cycle.front()];
    std::string path;
    for (const auto i : cycle) path += nodes_[i].name + " -> ";
    problems_.of_layer(first.name, first.where,
                       fmt::format("the net has a cycle, {}{}, and the job's algorithm takes nets without cycles only",
                                   path, first.name));
  }

  void rearrange(const std::vector<std::size_t>& order) {
    std::vector<std::size_t> place_of(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) place_of[order[i]] = i;
    std::vector<Node> nodes;
    std::vector<const config::Layer*> configs;
    for (auto i : order) {
      nodes.push_back(std::move(nodes_[i]));
      configs.push_back(configs_[i]);
      for (auto& edge : nodes.back().inputs) edge.node = place_of[edge.node];
    }
    nodes_ = std::move(nodes);
    configs_ = std::move(configs);
  }

  void set_up(std::size_t i) {
    Node& node = nodes_[i];
    if (!node.layer || !resolve_ports(i)) return forget(node);
    node.setup.inputs = node.input_ports;
    node.setup.phase = request_.phase;
    node.setup.compute = config(i).dtype.value_or(request_.compute);
    node.setup.batch = request_.batch;
    node.setup.layer = node.name;
    if (node.source) { // set up when opened: by now another graph's tasks may read from it
      node.setup.outputs = request_.sources->at(node.name).outputs;
      node.setup.has_gradient = false;
    } else if (const Status status = plugin::contained(*request_.activity, node.actor, "setup", plugin::no_step,
                                                       [&] { return node.layer->setup(node.setup); });
               !status.ok()) {
      problems_.of_layer(node.name, node.where, status.message());
      return forget(node);
    }
    if (!check_extents(node)) return forget(node);
    node.readers.resize(node.setup.outputs.size());
    settle_params(i);
  }

  // Marks the node's outputs as unknown.
  static void forget(Node& node) {
    node.layer = nullptr;
    node.setup = {};
  }

  bool check_extents(const Node& node) {
    const auto good = [&](const char* what, const std::string& name, const Shape& shape) {
      const Status status = check_extent(shape);
      if (!status.ok())
        problems_.of_layer(node.name, node.where, fmt::format("its {} '{}' {}", what, name, status.message()));
      return status.ok();
    };
    const auto& setup = node.setup;
    return std::ranges::all_of(setup.outputs, [&](const Port& p) { return good("output", p.name, p.desc.shape); }) &&
           std::ranges::all_of(setup.params, [&](const ParamSpec& p) { return good("param", p.name, p.shape); }) &&
           std::ranges::all_of(setup.buffers,
                               [&](const BufferSpec& b) { return good("buffer", b.name, b.desc.shape); });
  }

  // False: a source of the node is unknown; not reported, because its own error is. In a net with cycles a node may be
  // set up before its source: it gets an input without a shape, and close_cycles() connects it.
  bool resolve_ports(std::size_t i) {
    Node& node = nodes_[i];
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      Edge& edge = node.inputs[k];
      const Node& from = nodes_[edge.node];
      if (!from.layer) return false;
      if (edge.node >= i) {
        node.input_ports.push_back({});
        continue;
      }
      if (!connect_port(i, k)) return false;
      node.input_ports.push_back(from.setup.outputs[edge.output]);
    }
    return true;
  }

  bool connect_port(std::size_t i, std::size_t k) {
    Edge& edge = nodes_[i].inputs[k];
    Node& from = nodes_[edge.node];
    const auto& src = config(i).src[k];
    if (find_port(from, src, edge.output)) {
      from.readers[edge.output].push_back({i, k});
      return true;
    }
    std::vector<std::string> names;
    for (const auto& port : from.setup.outputs) names.push_back(port.name);
    if (names.empty()) {
      problems_.of_layer(nodes_[i].name, src.where, fmt::format("'{}' has no output that could be read", from.name));
      return false;
    }
    problems_.of_layer(nodes_[i].name, src.where,
                       fmt::format("'{}' has no output '{}'; it has: {}", from.name, src.port, fmt::join(names, ", ")));
    return false;
  }

  void close_cycles() {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      for (std::size_t k = 0; k < nodes_[i].inputs.size(); ++k) {
        const Edge& edge = nodes_[i].inputs[k];
        if (edge.node < i || !connect_port(i, k)) continue;
        nodes_[i].input_ports[k] = nodes_[edge.node].setup.outputs[edge.output];
      }
  }

  static bool find_port(const Node& from, const config::Source& src, std::size_t& output) {
    if (src.port.empty()) return output = 0, !from.setup.outputs.empty();
    for (output = 0; output < from.setup.outputs.size(); ++output)
      if (from.setup.outputs[output].name == src.port || std::to_string(output) == src.port) return true;
    return false;
  }

  void settle_params(std::size_t i) {
    Node& node = nodes_[i];
    for (const auto& spec : node.setup.params) {
      ParamUse use{.name = node.name + "." + spec.name,
                   .spec = spec,
                   .init = spec.init,
                   .init_at = node.where,
                   .rate_scale = spec.rate_scale,
                   .decay_scale = spec.decay_scale,
                   .frozen = false};
      if (const config::Param* set = config(i).param(spec.name)) {
        if (set->init) {
          use.init = *set->init;
          use.init_at = set->where;
        }
        if (set->rate_scale) use.rate_scale *= *set->rate_scale;
        if (set->decay_scale) use.decay_scale *= *set->decay_scale;
        if (!set->share.empty()) use.name = set->share;
        use.frozen = set->frozen;
        if (set->consistency) use.consistency = *set->consistency;
      }
      use.frozen = use.frozen || config(i).frozen;
      node.params.push_back(std::move(use));
    }
    for (const auto& set : config(i).params)
      if (std::ranges::none_of(node.setup.params, [&](const ParamSpec& spec) { return spec.name == set.name; })) {
        std::vector<std::string> names;
        for (const auto& spec : node.setup.params) names.push_back(spec.name);
        problems_.of_layer(node.name, set.where,
                           fmt::format("has no param '{}'; {}", set.name, problems_.suggest(set.name, names)));
      }
  }

  // Checks params that layers share: one shape, and settings that one of the layers gives hold for all.
  void share_params() {
    std::map<std::string_view, std::vector<Sharer>> sharers;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      for (auto& use : nodes_[i].params)
        sharers[use.name].push_back({&nodes_[i], &use, config(i).param(use.spec.name)});
    for (auto& [name, all] : sharers) {
      for (const Sharer& sharer : all)
        if (sharer.use->spec.shape != all[0].use->spec.shape)
          refuse_sharer(sharer, fmt::format("is {}, but {} in layer '{}'; shared params need one shape",
                                            to_string(sharer.use->spec.shape), to_string(all[0].use->spec.shape),
                                            all[0].node->name));
      share("rate_scale", all, &config::Param::rate_scale, &ParamUse::rate_scale);
      share("decay_scale", all, &config::Param::decay_scale, &ParamUse::decay_scale);
      share("consistency", all, &config::Param::consistency, &ParamUse::consistency);
      share("init", all, &config::Param::init, &ParamUse::init);
      const auto said = std::ranges::find_if(all, [](const Sharer& sharer) { return sharer.set && sharer.set->init; });
      if (said != all.end())
        for (const Sharer& sharer : all) sharer.use->init_at = said->set->where;
      const bool frozen = std::ranges::any_of(all, [](const Sharer& sharer) { return sharer.use->frozen; });
      for (Sharer& sharer : all) sharer.use->frozen = frozen;
    }
  }

  struct Sharer {
    Node* node;
    ParamUse* use;
    const config::Param* set; // null: the job has no settings for it
  };

  template <class T>
  void share(const char* key, std::vector<Sharer>& sharers, std::optional<T> config::Param::*given,
             T ParamUse::*settled) {
    const Sharer* first = nullptr;
    for (const Sharer& sharer : sharers) {
      if (!sharer.set || !(sharer.set->*given)) continue;
      if (!first) first = &sharer;
      const auto here = detail::written(sharer.use->*settled), there = detail::written(first->use->*settled);
      if (here != there)
        refuse_sharer(sharer, fmt::format("has {} = {}, but {} in layer '{}'; set it in one of them", key, here, there,
                                          first->node->name));
    }
    if (!first) first = &sharers[0];
    for (Sharer& sharer : sharers) sharer.use->*settled = first->use->*settled;
  }

  void refuse_sharer(const Sharer& sharer, const std::string& why) {
    problems_.of_layer(
        sharer.node->name, sharer.set ? sharer.set->where : sharer.node->where,
        fmt::format("its param '{}' is '{}', which is shared, and {}", sharer.use->spec.name, sharer.use->name, why));
  }

  // A layer needs a gradient if it or a layer below it has live params.
  void find_gradients() {
    for (Node& node : nodes_) {
      node.live = std::ranges::any_of(node.params, [](const ParamUse& use) { return !use.frozen; });
      node.needs_gradient =
          node.setup.has_gradient &&
          (node.live || std::ranges::any_of(node.inputs, [&](const Edge& e) { return nodes_[e.node].needs_gradient; }));
    }
  }

  const Graph::Request& request_;
  std::vector<Node>& nodes_;
  config::Problems& problems_;
  std::vector<const config::Layer*> configs_;
};

} // namespace

std::string Node::metric_name(const MetricSpec& metric) const {
  return setup.metrics.size() == 1 ? name : name + "." + metric.name;
}

std::optional<Graph> Graph::build(const Request& request, config::Problems& problems) {
  Graph graph;
  graph.phase_ = request.phase;
  graph.batch_ = request.batch;
  graph.compute_ = request.compute;
  if (!Builder(request, graph.nodes_, problems).build()) return std::nullopt;
  return graph;
}

Graph::~Graph() {
  for (Node& node : nodes_) plugin::destroy(node.actor, node.owned);
}

const Node* Graph::find(std::string_view name) const {
  const auto found = std::ranges::find(nodes_, name, &Node::name);
  return found == nodes_.end() ? nullptr : &*found;
}

} // namespace dlhost::net
