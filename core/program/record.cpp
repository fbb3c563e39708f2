#include "program/record.h"

#include <algorithm>

#include <fmt/format.h>

namespace dlhost::program {
namespace {

class NodeView final : public Node {
 public:
  NodeView(const net::Node& node, std::size_t index) : node_(node), index_(index) {}
  std::string_view name() const override { return node_.name; }
  std::string_view type() const override { return node_.type; }
  std::size_t index() const override { return index_; }
  std::span<Node* const> sources() const override { return sources_; }
  std::span<Node* const> readers() const override { return readers_; }
  bool has_params() const override { return node_.live; }
  bool is_source() const override { return node_.source != nullptr; }
  bool is_loss() const override { return node_.setup.is_loss; }
  bool has_gradient() const override { return node_.needs_gradient; }

  std::vector<Node*> sources_, readers_;

 private:
  const net::Node& node_;
  std::size_t index_;
};

class Recorder final : public NetView {
 public:
  explicit Recorder(const net::Graph& graph) {
    const auto& nodes = graph.nodes();
    for (std::size_t i = 0; i < nodes.size(); ++i) views_.push_back(std::make_unique<NodeView>(nodes[i], i));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const auto& edge : nodes[i].inputs) views_[i]->sources_.push_back(views_[edge.node].get());
      for (const auto& readers : nodes[i].readers)
        for (const auto& reader : readers) views_[i]->readers_.push_back(views_[reader.node].get());
      pointers_.push_back(views_[i].get());
    }
  }

  std::span<Node* const> nodes() const override { return pointers_; }
  void frames(int count, bool cut) override {
    if (count < 1 || !result.visits.empty()) {
      refuse(count < 1 ? "asks for less than one frame" : "asks for frames after its first visit");
      return;
    }
    result.frames = count;
    result.cut = cut && count > 1;
  }
  void collect(Node& node) override { add({Visit::Kind::collect, node.index()}); }
  void feature(Node& node, int frame, std::uint32_t sweep) override {
    add({Visit::Kind::feature, node.index(), frame, sweep});
  }
  void gradient(Node& node, Wanted wanted, int frame, std::uint32_t sweep, float sign) override {
    if (node.has_gradient()) add({Visit::Kind::gradient, node.index(), frame, sweep, wanted, sign});
  }
  void update(Node& node) override {
    if (node.has_params()) add({Visit::Kind::update, node.index()});
  }
  // An update whose param gradients are computed now, unless the algorithm asked for them before.
  void update_late(Node& node) override {
    if (!node.has_params()) return;
    auto passes = gradients_of(node);
    const auto makes_products = [](const Visit& pass) { return wants_params(pass.wanted); };
    if (std::ranges::none_of(passes, makes_products)) add_products(node, std::move(passes));
    update(node);
  }

  Record result;
  std::string error;

 private:
  std::vector<Visit> gradients_of(const Node& node) const {
    std::vector<Visit> found;
    for (const auto& visit : result.visits)
      if (visit.kind == Visit::Kind::gradient && visit.node == node.index()) found.push_back(visit);
    return found;
  }
  // Adds param gradients for each pass that computed the layer's input gradients; for each frame if there was none.
  void add_products(const Node& node, std::vector<Visit> passes) {
    const bool has_passes = !passes.empty();
    for (int frame = 0; !has_passes && frame < result.frames; ++frame)
      passes.push_back({.kind = Visit::Kind::gradient, .node = node.index(), .frame = frame});
    std::vector<bool> seen(static_cast<std::size_t>(result.frames));
    for (auto& pass : passes) {
      if (seen[static_cast<std::size_t>(pass.frame)])
        refuse(fmt::format("calls update_late for layer '{}', whose input gradients it computes twice in frame {}: "
                           "what the first products need is gone by then (ask for Wanted::both in each pass)",
                           node.name(), pass.frame));
      seen[static_cast<std::size_t>(pass.frame)] = true;
      pass.wanted = Wanted::params;
      add(pass);
    }
  }
  void refuse(std::string why) {
    if (error.empty()) error = std::move(why); // later errors may follow from the first
  }
  void add(Visit visit) {
    if (visit.frame < 0 || visit.frame >= result.frames) {
      refuse(fmt::format("visits frame {} of {}", visit.frame, result.frames));
      return;
    }
    result.visits.push_back(visit);
  }

  std::vector<std::unique_ptr<NodeView>> views_;
  std::vector<Node*> pointers_;
};

// Checks that each layer has at most one update, after all its gradients, and that live params have one.
std::string check(const Record& record, const net::Graph& graph) {
  std::vector<bool> gradient(graph.nodes().size()), updated(graph.nodes().size());
  for (const auto& visit : record.visits) {
    const auto& node = graph.nodes()[visit.node];
    if (visit.kind == Visit::Kind::gradient && wants_params(visit.wanted)) {
      if (updated[visit.node])
        return fmt::format("computes the param gradient of layer '{}' after its update", node.name);
      gradient[visit.node] = true;
    }
    if (visit.kind != Visit::Kind::update) continue;
    if (!gradient[visit.node]) return fmt::format("updates layer '{}' before its gradient was computed", node.name);
    if (updated[visit.node]) return fmt::format("updates layer '{}' twice", node.name);
    updated[visit.node] = true;
  }
  for (std::size_t i = 0; i < gradient.size(); ++i)
    if (gradient[i] && graph.nodes()[i].live && !updated[i])
      return fmt::format("computes the param gradient of layer '{}' and never updates it", graph.nodes()[i].name);
  return {};
}

} // namespace

Result<Record> record(Algorithm& algorithm, std::string_view algorithm_name, const net::Graph& graph) {
  if (algorithm.traits().data_dependent)
    return Status::unsupported("algorithm '", algorithm_name,
                               "' says that its order depends on the data, but programs are recorded once; choose "
                               "another algorithm");
  for (const auto& node : graph.nodes())
    if (node.setup.data_order)
      return Status::unsupported(
          "layer '", node.name,
          "' says that its work depends on the data, but programs are recorded once: not supported in this version");
  Recorder recorder(graph);
  algorithm.train_one_batch(recorder);
  if (recorder.error.empty()) recorder.error = check(recorder.result, graph);
  if (!recorder.error.empty())
    return Status::invalid("algorithm '", algorithm_name, "' ", recorder.error, "; this is a bug in the plugin");
  return std::move(recorder.result);
}

Record record_features(const net::Graph& graph) {
  Record record;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    record.visits.push_back({Visit::Kind::collect, i});
    record.visits.push_back({Visit::Kind::feature, i});
  }
  return record;
}

} // namespace dlhost::program
