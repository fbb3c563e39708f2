// Algorithms: TrainOneBatch, the order in which layers compute features and gradients.
//
//   void train_one_batch(NetView& net) override {
//     for (Node& node : net.nodes()) { net.collect(node); net.feature(node); }
//     for (Node& node : std::views::reverse(net.nodes())) { net.gradient(node, Wanted::both); net.update(node); }
//   }
//
// It runs once against a recording view, and core schedules the record: memory, overlap, fusion, pipelines, CUDA
// graphs. An algorithm whose order depends on data says so in its traits; jobs with it are refused, until there are
// programs that are made anew at every step.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <dlhost/frame.h>
#include <dlhost/kind.h>
#include <dlhost/status.h>

namespace dlhost {

// A layer as an algorithm sees it.
class DLHOST_API Node {
 public:
  virtual ~Node();
  virtual std::string_view name() const = 0;
  virtual std::string_view type() const = 0;
  virtual std::size_t index() const = 0;
  virtual std::span<Node* const> sources() const = 0; // whose outputs it reads
  virtual std::span<Node* const> readers() const = 0;
  virtual bool has_params() const = 0; // live ones
  virtual bool is_source() const = 0;
  virtual bool is_loss() const = 0;
  virtual bool has_gradient() const = 0; // something below it, or in it, learns
};

class DLHOST_API NetView {
 public:
  virtual ~NetView();
  // In feature order (topological for an acyclic net, else the job's).
  virtual std::span<Node* const> nodes() const = 0;
  // How many frames the step uses; the batch is cut into so many equal micro-batches when `cut`, else each frame sees
  // the whole batch. Before any visit; default 1.
  virtual void frames(int count, bool cut) = 0;
  virtual void collect(Node&) = 0; // its params are there, in this step's version
  virtual void feature(Node&, int frame = 0, std::uint32_t sweep = 0) = 0;
  // Param gradients of several calls in one step add up, each times `sign`.
  virtual void gradient(Node&, Wanted, int frame = 0, std::uint32_t sweep = 0, float sign = 1) = 0;
  // Its params' gradients of this step are complete: they leave for the updater, now. Once a step.
  virtual void update(Node&) = 0;
  // The same behind gradient(node, Wanted::inputs): the param gradients of those passes are made only now, or their
  // factors leave and whoever gets them multiplies (layers that declared Factors). Where the passes asked for the param
  // gradients themselves, it is update. A pass a frame at most.
  virtual void update_late(Node&) = 0;
};

class DLHOST_API Algorithm : public Plugin {
 public:
  static constexpr Kind kind = Kind::algorithm;
  struct Traits {
    bool cyclic = false;         // accepts nets with cycles
    bool needs_loss = true;      // a net without a loss layer is refused
    bool data_dependent = false; // cannot be recorded
  };
  virtual Traits traits() const { return {}; }
  virtual void train_one_batch(NetView&) = 0;
};

} // namespace dlhost
