// The net of one phase at one batch size: layer objects, connected and set up, in feature order.
//
// Built by `run` and by the inspecting commands (check, plan); read by program. Owns: its layers, except sources, which
// all graphs of a run share. Computes nothing.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dlhost/layer.h>
#include <dlhost/partition.h>
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

// A layer's param with the job's settings.
struct ParamUse {
  std::string name; // "fc1.weight", or the shared name
  ParamSpec spec;
  Part init;
  Location init_at; // its place in the job, else the layer's
  double rate_scale = 1, decay_scale = 1;
  bool frozen = false;
  Part consistency{}; // type empty: the job's
};

struct Node {
  std::string name;
  std::string type;
  const plugin::Actor* actor = nullptr; // names the layer in reports of exceptions, crashes and hangs
  Location where;
  std::unique_ptr<Layer> owned;
  Layer* layer = nullptr;   // null only during the build: unknown because of an error
  Source* source = nullptr; // the same object, if it is a source
  std::vector<Port> input_ports;
  Setup setup;
  std::vector<Edge> inputs;
  std::vector<std::vector<Reader>> readers; // for each output
  std::vector<ParamUse> params;
  std::uint32_t draw_stream = 0; // the layer's number in the job, the same in every phase
  bool live = false;             // has params that learn
  bool needs_gradient = false;   // it or a layer below it is live

  // The layer's name; plus ".metric" if it has several metrics.
  std::string metric_name(const MetricSpec&) const;
};

// A source's outputs after augmentation, for a batch.
struct SourceView {
  Source* source = nullptr;
  std::vector<Port> outputs;
};

class Graph {
 public:
  struct Request {
    const config::Job* job = nullptr;
    plugin::Registry* registry = nullptr;
    plugin::Activity* activity = nullptr; // of the building task
    const std::map<std::string, SourceView>* sources = nullptr;
    Phase phase = Phase::train;
    std::int64_t batch = 0; // 0: unknown, and so are all shapes
    DType compute = DType::f32;
    std::optional<bool> cyclic; // the algorithm accepts cycles; none: unknown
  };

  // None: a layer has an error, or had one before. All errors go to `problems` with their places in the job. Refused
  // layers and their readers are left out; the others are connected and set up.
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
