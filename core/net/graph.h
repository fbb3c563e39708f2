// The net of one phase at one batch size: layer objects, connected and set up, in feature order.
//
// Built by run and by the commands that only look (check, plan); read by program. A Graph owns its layers, except
// sources, which all graphs of a run share. Nothing here computes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dlhost/layer.h>
#include <dlhost/source.h>

#include "config/job.h"
#include "config/problems.h"
#include "plugin/registry.h"

namespace dlhost::net {

struct Edge {
  std::size_t node = 0;
  std::size_t output = 0;
};

struct Reader {
  std::size_t node = 0;
  std::size_t input = 0;
};

// A param as one layer declares it and the job settles it.
struct ParamUse {
  std::string name; // "fc1.weight", or the shared name
  ParamSpec spec;
  Part init;
  Location init_at; // where the job says so; else its layer's place
  double rate_scale = 1, decay_scale = 1;
  bool frozen = false;
  Part consistency{}; // type empty: the job's
};

struct Node {
  std::string name;
  std::string type;
  const plugin::Actor* actor = nullptr; // how the layer is named when it throws, crashes or hangs
  Location where;
  std::unique_ptr<Layer> owned;
  Layer* layer = nullptr;   // null only while the net is built: what it would be is not known
  Source* source = nullptr; // the same object, where it is one
  std::vector<Port> input_ports;
  Setup setup;
  std::vector<Edge> inputs;
  std::vector<std::vector<Reader>> readers; // of each output
  std::vector<ParamUse> params;
  std::uint32_t draw_stream = 0; // by the layer's place in the job, the same in every phase
  bool live = false;             // has params that learn
  bool needs_gradient = false;   // it learns, or something below it does

  // Its own name; with the metric's behind a point where it has several.
  std::string metric_name(const MetricSpec&) const;
};

// What a source offers behind its augmentations, for a batch.
struct SourceView {
  Source* source = nullptr;
  std::vector<Port> outputs;
};

class Graph {
 public:
  struct Request {
    const config::Job* job = nullptr;
    plugin::Registry* registry = nullptr;
    plugin::Activity* activity = nullptr; // of the task that builds it
    const std::map<std::string, SourceView>* sources = nullptr;
    Phase phase = Phase::train;
    std::int64_t batch = 0; // 0: not known, and so no shape is
    DType compute = DType::f32;
    std::optional<bool> cyclic; // the algorithm accepts cycles; nothing: it is not known
  };

  // Nothing where something is wrong with a layer, now or before: all of it goes to `problems`, each with its place in
  // the job. Layers that were refused, and what reads them, are left out; the others are connected and set up.
  static std::optional<Graph> build(const Request&, config::Problems&);
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = delete;
  ~Graph();

  std::vector<Node>& nodes() { return nodes_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  Phase phase() const { return phase_; }
  std::int64_t batch() const { return batch_; }
  DType compute() const { return compute_; }
  const Node* find(std::string_view name) const;

 private:
  Graph() = default;

  std::vector<Node> nodes_;
  Phase phase_ = Phase::train;
  std::int64_t batch_ = 0;
  DType compute_ = DType::f32;
};

} // namespace dlhost::net
