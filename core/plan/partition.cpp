#include "plan/partition.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "param/file/naming.h"
#include "plan/place.h"

namespace dlhost::plan {
namespace {

constexpr std::string_view no_split = "none";

bool is_like(const std::string& pattern, const std::string& name) { return param::match(pattern, name).has_value(); }

std::vector<std::int64_t> even(std::int64_t length, std::int64_t parts) {
  std::vector<std::int64_t> bounds;
  for (std::int64_t i = 0; i <= parts; ++i) bounds.push_back(length * i / parts);
  return bounds;
}

// The splits of a layer: the batch's, and those that it declares.
std::vector<Split> splits_of(const Setup& setup) {
  std::vector<Split> splits;
  const auto declared = std::ranges::find(setup.splits, axis_name(0), &Split::name);
  if (declared == setup.splits.end()) splits.push_back(net::batch_split(setup));
  splits.insert(splits.end(), setup.splits.begin(), setup.splits.end());
  return splits;
}

bool lies_along(const Split& split, std::int64_t axis) {
  return !split.outputs.empty() && split.outputs[0].need == Split::Need::same &&
         split.outputs[0].axis == static_cast<std::size_t>(axis);
}

// Cuts the layers of a net.
class Cutter {
 public:
  Cutter(const config::Job& job, const std::vector<std::int64_t>& rows, config::Problems& problems)
      : job_(job), rows_(rows), workers_(static_cast<std::uint32_t>(rows_.size() - 1)), problems_(problems) {
    for (const config::Layer& layer : job.layers) layers_.emplace(layer.name, &layer);
  }

  std::optional<LayerPart> cut(const net::Node& node) {
    node_ = &node;
    layer_ = layers_.at(node.name);
    splits_ = splits_of(node.setup);
    for (const Split& split : splits_) names_.insert(split.name);
    const auto there = location();
    if (!there) return std::nullopt;
    const auto cuts = this->cuts(static_cast<std::int64_t>(there->size()));
    if (!cuts) return std::nullopt;
    std::vector<std::uint32_t> of(workers_, net::Pieces::none);
    std::uint32_t piece = 0;
    for (const std::uint32_t worker : *there) of[worker] = cuts->empty() ? 0 : piece++;
    std::vector<std::string> names;
    for (const auto& cut : *cuts) names.push_back(cut.split.name);
    std::string scheme = names.empty() ? std::string(no_split) : fmt::format("{}", fmt::join(names, " x "));
    if (there->size() < workers_) scheme += fmt::format(" on {}", fmt::join(*there, " and "));
    return LayerPart{std::move(scheme), net::Pieces(*cuts, std::move(of))};
  }

  // Reports a scheme or a pattern that no layer fits. Call it after all layers.
  void check_names() {
    const config::Scheme& usual = job_.partition.fallback;
    if (!usual.split.empty() && usual.split != no_split && !names_.contains(usual.split))
      problems_.of_key("partition.default", usual.where, "no layer has a split \"", usual.split, "\"; they have ",
                       fmt::format("{} and {}", fmt::join(names_, ", "), no_split));
    for (const auto& of : job_.partition.layers) {
      const auto fits = [&](const config::Layer& layer) { return is_like(of.first, layer.name); };
      if (std::ranges::none_of(job_.layers, fits))
        problems_.of_key("partition.layers", of.second.where, "no layer has a name like \"", of.first, "\"");
    }
  }

 private:
  using Cuts = std::vector<net::Pieces::Cut>;

  template <class... Parts> std::nullopt_t refuse(const Location& where, const Parts&... message) {
    problems_.of_layer(node_->name, where, message...);
    return std::nullopt;
  }

  std::optional<std::vector<std::uint32_t>> location() {
    std::vector<std::uint32_t> there;
    for (const std::int64_t worker : layer_->location) {
      if (worker >= workers_)
        return refuse(node_->where, "location = ", worker, ": the workers of a group are 0 to ", workers_ - 1,
                      " (topology.workers_per_group)");
      there.push_back(static_cast<std::uint32_t>(worker));
    }
    std::ranges::sort(there);
    if (std::ranges::adjacent_find(there) != there.end())
      return refuse(node_->where, "location names worker ", *std::ranges::adjacent_find(there), " twice");
    if (there.empty()) {
      there.resize(workers_);
      std::iota(there.begin(), there.end(), 0U);
    }
    return there;
  }

  // The job's scheme for the layer, and whether it was meant for just this layer.
  std::pair<const config::Scheme*, bool> scheme() const {
    if (layer_->scheme) return {&*layer_->scheme, true};
    for (auto of = job_.partition.layers.rbegin(); of != job_.partition.layers.rend(); ++of)
      if (is_like(of->first, node_->name)) return {&of->second, true};
    return {&job_.partition.fallback, false};
  }

  std::optional<Cuts> cuts(std::int64_t parts) {
    const auto [scheme, is_own] = this->scheme();
    if (scheme->split == no_split) return Cuts();
    if (scheme->split.empty() && (is_own || has_axes(*scheme))) return grid(*scheme, parts);
    auto split = std::ranges::find(splits_, scheme->split, &Split::name);
    if (split == splits_.end() && !is_own) split = std::ranges::find(splits_, axis_name(0), &Split::name);
    if (split == splits_.end())
      return refuse(scheme->where, "partition = \"", scheme->split, "\": a layer of type ", node_->type,
                    " has no such split; it has ", names());
    if (parts == 1) return Cuts();
    auto cut = bounded(*split, parts, *scheme);
    if (!cut) return std::nullopt;
    return Cuts{std::move(*cut)};
  }

  bool has_axes(const config::Scheme& scheme) const {
    return std::ranges::all_of(scheme.axes, [&](std::int64_t axis) {
      return std::ranges::any_of(splits_, [&](const Split& split) { return lies_along(split, axis); });
    });
  }

  std::optional<Cuts> grid(const config::Scheme& scheme, std::int64_t parts) {
    Cuts cuts;
    std::int64_t all = 1;
    for (std::size_t i = 0; i < scheme.axes.size(); ++i) {
      const auto split =
          std::ranges::find_if(splits_, [&](const Split& one) { return lies_along(one, scheme.axes[i]); });
      if (split == splits_.end())
        return refuse(scheme.where, "partition: axis ", scheme.axes[i], " of its output cannot be cut; it has ",
                      names());
      if (std::ranges::count(scheme.axes, scheme.axes[i]) > 1)
        return refuse(scheme.where, "partition: axis ", scheme.axes[i], " is named twice");
      auto cut = bounded(*split, scheme.grid[i], scheme);
      if (!cut) return std::nullopt;
      if (scheme.grid[i] > 1) cuts.push_back(std::move(*cut));
      all *= scheme.grid[i];
    }
    if (all != parts)
      return refuse(scheme.where, "partition: grid has ", all, " parts, and ", parts,
                    " workers compute the layer: each needs one part");
    return cuts;
  }

  std::optional<net::Pieces::Cut> bounded(const Split& split, std::int64_t parts, const config::Scheme& scheme) {
    if (split.length < parts)
      return refuse(scheme.where.line > 0 ? scheme.where : node_->where, "partition: ", split.length, " units of \"",
                    split.name, "\" cannot be cut into ", parts, " parts");
    const bool by_shares = split.name == axis_name(0) && parts == workers_ && split.length == rows_.back();
    return net::Pieces::Cut{split, by_shares ? rows_ : even(split.length, parts)};
  }

  std::string names() const {
    std::vector<std::string> names;
    for (const Split& split : splits_) names.push_back(split.name);
    return fmt::format("{} and {}", fmt::join(names, ", "), no_split);
  }

  const config::Job& job_;
  const std::vector<std::int64_t>& rows_; // bounds
  const std::uint32_t workers_;
  config::Problems& problems_;
  std::map<std::string_view, const config::Layer*> layers_;
  std::set<std::string> names_; // of the splits of all layers
  // Of the layer that is cut.
  const net::Node* node_ = nullptr;
  const config::Layer* layer_ = nullptr;
  std::vector<Split> splits_;
};

// Readers that want an output in one form share a connector.
void connect(const net::Graph& graph, std::size_t number, std::size_t output, Partition& partition) {
  const auto& nodes = graph.nodes();
  const net::Node& node = nodes[number];
  const TensorDesc& desc = node.setup.outputs[output].desc;
  const net::Pieces& maker = partition.layers[number].pieces;
  const net::Form from = maker.made(desc.shape, output), gradient_to = maker.wanted(desc.shape, output);
  const std::size_t first = partition.connectors.size();
  for (const net::Reader& reader : node.readers.at(output)) {
    const net::Pieces& pieces = partition.layers[reader.node].pieces;
    const net::Form to = pieces.read(desc.shape, reader.input, &Split::inputs);
    const net::Form gradient_from = pieces.gradient(desc.shape, reader.input, &Split::inputs);
    const bool learns = graph.phase() == Phase::train && node.needs_gradient && nodes[reader.node].setup.has_gradient;
    if (from == to && (!learns || gradient_from == gradient_to)) continue;
    const auto same =
        std::find_if(partition.connectors.begin() + static_cast<std::ptrdiff_t>(first), partition.connectors.end(),
                     [&](const Connector& other) {
                       return other.to == to && other.gradient_from == gradient_from && other.learns == learns;
                     });
    if (same != partition.connectors.end()) {
      same->readers.push_back(reader);
      continue;
    }
    Connector connector{.name = std::string(net::name_of_moves(from, to)),
                        .source = {number, output},
                        .readers = {reader},
                        .from = from,
                        .to = to,
                        .gradient_from = gradient_from,
                        .gradient_to = gradient_to,
                        .learns = learns,
                        .feature_moves = net::moves(from, to),
                        .gradient_moves = learns ? net::moves(gradient_from, gradient_to) : std::vector<net::Move>(),
                        .crossing = Crossing(from.workers())};
    connector.crossing.add(connector.feature_moves, size_of(desc.dtype));
    connector.crossing.add(connector.gradient_moves, size_of(desc.dtype));
    partition.connectors.push_back(std::move(connector));
  }
}

// The uses of a param, each with the forms in which it reads the value and makes the gradient.
struct Use {
  net::Form value, gradient;
};

ParamPart part_of(const std::string& name, const std::vector<Use>& uses) {
  const std::uint32_t workers = uses[0].value.workers();
  ParamPart part{name, uses[0].gradient, uses[0].value, {}, Crossing(workers)};
  const auto go = [&](const net::Form& from, const net::Form& to) {
    const auto list = net::moves(from, to);
    part.crossing.add(list, sizeof(float));
    part.moves.insert(part.moves.end(), list.begin(), list.end());
  };
  const bool alike = std::ranges::all_of(
      uses, [&](const Use& use) { return use.value == part.value && use.gradient == part.gradient; });
  if (alike) {
    go(part.gradient, part.value); // the worker adds the gradients of its uses first
    return part;
  }
  for (const Use& use : uses) go(use.gradient, part.value); // the first use's form is that of the master
  for (const Use& use : uses) go(part.value, use.value);
  return part;
}

void exchange_params(const net::Graph& graph, Partition& partition) {
  std::map<std::string, std::vector<Use>> uses;
  std::vector<std::string> order;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const net::Node& node = graph.nodes()[n];
    for (std::size_t p = 0; p < node.params.size(); ++p) {
      const net::ParamUse& param = node.params[p];
      if (param.frozen) continue;
      const net::Pieces& pieces = partition.layers[n].pieces;
      auto& of = uses[param.name];
      if (of.empty()) order.push_back(param.name);
      of.push_back(
          {pieces.read(param.spec.shape, p, &Split::params), pieces.gradient(param.spec.shape, p, &Split::params)});
    }
  }
  for (const auto& name : order) partition.params.push_back(part_of(name, uses[name]));
}

// Reduces the part of a whole node to a worker's piece.
void cut(net::NodePart& part, const Setup& setup, const net::Pieces& pieces, std::uint32_t rank) {
  const std::uint32_t piece = pieces.of(rank);
  for (std::size_t o = 0; o < part.outputs.size(); ++o) {
    const net::Form made = pieces.made(part.outputs[o].shape, o);
    part.counts[o] =
        std::find(made.all().begin(), made.all().begin() + rank, made.of(rank)) == made.all().begin() + rank;
    part.outputs[o].shape = made.of(rank).box.shape;
  }
  for (std::size_t p = 0; p < part.params.size(); ++p)
    part.params[p] = pieces.part(part.params[p], piece, p, &Split::params).shape;
  const auto units = pieces.units(piece);
  for (std::size_t c = 0; c < units.size(); ++c) {
    const auto& name = pieces.cuts()[c].split.name;
    if (name == axis_name(0)) {
      part.first_row = units[c].first;
      part.rows = units[c].last - units[c].first;
    }
    const auto declared = std::ranges::find(setup.splits, name, &Split::name);
    if (declared != setup.splits.end())
      part.piece.cuts.push_back({static_cast<std::size_t>(declared - setup.splits.begin()), units[c]});
  }
  for (std::size_t b = 0; b < part.buffers.size(); ++b)
    if (setup.buffers[b].life == Life::carried) part.buffers[b].shape[0] = part.rows;
}

} // namespace

void Crossing::add(const std::vector<net::Move>& moves, std::size_t element_bytes) {
  for (const net::Move& move : moves) {
    if (move.from == move.to) continue;
    const std::int64_t bytes = move.box.count() * static_cast<std::int64_t>(element_bytes);
    sent[move.from] += bytes;
    received[move.to] += bytes;
    total += bytes;
  }
}

void Crossing::add(const Crossing& other) {
  for (std::size_t w = 0; w < sent.size(); ++w) {
    sent[w] += other.sent[w];
    received[w] += other.received[w];
  }
  total += other.total;
}

std::optional<std::vector<LayerPart>> layer_parts(const net::Graph& graph, const config::Job& job,
                                                  const std::vector<std::int64_t>& rows, config::Problems& problems) {
  const std::size_t before = problems.count();
  Cutter cutter(job, rows, problems);
  std::vector<LayerPart> parts;
  for (const net::Node& node : graph.nodes())
    if (auto part = cutter.cut(node)) parts.push_back(std::move(*part));
  cutter.check_names();
  if (problems.count() > before || parts.size() < graph.nodes().size()) return std::nullopt;
  return parts;
}

std::vector<net::NodePart> node_parts(const net::Graph& graph, const std::vector<LayerPart>& layers,
                                      std::uint32_t rank) {
  auto parts = net::whole_parts(graph);
  for (std::size_t n = 0; n < parts.size(); ++n) {
    const net::Pieces& pieces = layers[n].pieces;
    if (pieces.of(rank) == net::Pieces::none)
      parts[n] = {.computes = false};
    else
      cut(parts[n], graph.nodes()[n].setup, pieces, rank);
  }
  return parts;
}

std::optional<Partition> Partition::of(const net::Graph& graph, const config::Job& job,
                                       const std::vector<std::int64_t>& rows, config::Problems& problems) {
  auto parts = layer_parts(graph, job, rows, problems);
  if (!parts) return std::nullopt;
  const auto workers = static_cast<std::uint32_t>(job.topology.workers_per_group);
  Partition partition{.layers = *std::move(parts),
                      .connectors = {},
                      .params = {},
                      .features = Crossing(workers),
                      .param_bytes = Crossing(workers)};
  for (std::size_t n = 0; n < graph.nodes().size(); ++n)
    for (std::size_t o = 0; o < graph.nodes()[n].setup.outputs.size(); ++o) connect(graph, n, o, partition);
  exchange_params(graph, partition);
  for (const Connector& connector : partition.connectors) partition.features.add(connector.crossing);
  for (const ParamPart& param : partition.params) partition.param_bytes.add(param.crossing);
  return partition;
}

} // namespace dlhost::plan
