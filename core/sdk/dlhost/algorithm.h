// Algorithms: TrainOneBatch, the order in which layers compute features and gradients.
//
//   void train_one_batch(NetView& net) override {
//     for (Node* node : net.nodes()) { net.collect(*node); net.feature(*node); }
//     for (Node* node : std::views::reverse(net.nodes())) { net.gradient(*node, Wanted::both); net.update(*node); }
//   }
//
// It runs once against a recording view, and core schedules the record: memory, overlap, fusion, pipelines, CUDA
// graphs. An algorithm whose order depends on data declares so in its traits. Jobs with such an algorithm are refused,
// because a program is built only once.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <dlhost/frame.h>
#include <dlhost/kind.h>
#include <dlhost/status.h>

namespace dlhost {

// A layer, as algorithms see it.
class DLHOST_API Node {
 public:
  virtual ~Node();
  virtual std::string_view name() const = 0;
  virtual std::string_view type() const = 0;
  virtual std::size_t index() const = 0;
  virtual std::span<Node* const> sources() const = 0; // layers whose outputs it reads
  virtual std::span<Node* const> readers() const = 0;
  virtual bool has_params() const = 0; // params that learn
  virtual bool is_source() const = 0;
  virtual bool is_loss() const = 0;
  virtual bool has_gradient() const = 0; // it or a layer below it learns
};

class DLHOST_API NetView {
 public:
  virtual ~NetView();
  // In feature order: topological for an acyclic net, else the job's order.
  virtual std::span<Node* const> nodes() const = 0;
  // Sets the number of frames in the step. With `cut` the batch is cut into that many equal micro-batches, else each
  // frame gets the whole batch. Requires: called before any visit. Default: 1.
  virtual void frames(int count, bool cut) = 0;
  virtual void collect(Node&) = 0; // waits until its params have this step's version
  virtual void feature(Node&, int frame = 0, std::uint32_t sweep = 0) = 0;
  // The param gradients of several calls in one step are summed, each times `sign`.
  virtual void gradient(Node&, Wanted, int frame = 0, std::uint32_t sweep = 0, float sign = 1) = 0;
  // Sends the layer's param gradients of this step to the updater. Requires: they are complete; once a step.
  virtual void update(Node&) = 0;
  // The same after gradient(node, Wanted::inputs): the param gradients of those passes are computed only now, or sent
  // as factors for the receiver to multiply (layers that declared Factors). If the passes asked for the param
  // gradients, it equals update. Requires: at most one pass for each frame.
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
