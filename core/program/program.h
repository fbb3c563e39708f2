// One worker's program: a net for one batch size, in the order that the algorithm recorded, with every tensor laid out
// and every op prepared. run() makes one step; it allocates nothing, looks nothing up and takes no lock. Thread: one
// task.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <dlhost/host.h>

#include "plan/plan.h"
#include "plugin/faults.h"
#include "program/host_copies.h"
#include "program/loss_scale.h"
#include "program/param_exchange.h"
#include "program/timings.h"
#include "program/unit.h"
#include "record/table.h"

namespace dlhost::program {

// The batch of a step from the feeder: for each source its outputs in host memory, and on the device those that the
// program takes there.
struct BatchView {
  struct SourceBatch {
    std::size_t node = 0;
    std::vector<void*> outputs;
    std::span<void* const> delivered; // null: that output is not taken on the device; empty: none is
    Event* arrived = nullptr;         // all of `delivered` has arrived
  };
  std::vector<SourceBatch> sources;
  std::span<const std::uint32_t> samples;
  std::int64_t valid = 0;
};

struct Metric {
  std::string name; // its layer's name; plus ".metric" if the layer has several
  std::size_t node = 0;
  bool better_high = false;
  bool is_loss = false;
  double last_sum = 0, last_count = 0; // of the last step
  SlotId slot = no_slot;
  const float* host = nullptr;
};

// A table of counts, summed by an evaluation.
struct CountTable {
  record::Table last; // of the last step
  SlotId slot = no_slot;
};

// The program's memory, known after layout. A layer's activations are its part of the arena at the fullest step. Its
// params include histories and copies, and count only in the first program that uses them.
struct Footprint {
  struct Part {
    std::string layer; // empty: core's steps between layers
    std::size_t activations = 0, params = 0;
  };
  std::vector<Part> parts;
  std::size_t arena = 0, scratch = 0, params = 0; // on the device
  std::size_t param_gradients = 0; // the most bytes of param gradients in the arena; independent of the batch
  std::size_t host = 0;            // extra host memory, if the host cannot reach the device's
};

class Program {
 public:
  ~Program();
  // Makes one step. Errors: Code::cancelled for a loss that is not finite; the params are then unchanged.
  Status run(const BatchView&, const StepInfo&);

  bool trains() const { return training_; }
  const std::vector<Metric>& metrics() const { return metrics_; }
  std::vector<Metric>& metrics() { return metrics_; }
  // Of an evaluating program.
  const std::vector<CountTable>& tables() const { return tables_; }
  // The norm of the last step's gradients before clipping; none: norms are not computed.
  std::optional<double> gradient_norm() const { return exchange_->gradient_norm(); }
  // Of a program that computes in f16; null: gradients are not scaled.
  LossScale* loss_scale() { return loss_scale_ ? &*loss_scale_ : nullptr; }
  const LossScale* loss_scale() const { return loss_scale_ ? &*loss_scale_ : nullptr; }
  // Sets the number of updates that each param has had.
  void resume_at(std::uint64_t updates) { exchange_->resume_at(updates); }
  // Resets state that is carried from batch to batch. Requires: the program does not train.
  Status restart();
  // The first layer whose output is not finite, for the batch of the last run(); empty: none.
  Result<std::string> find_not_finite();
  // A kept output of the last step, as plain f32 on the host.
  Result<std::vector<float>> read_output(std::size_t node, std::size_t output);

  const std::vector<Unit>& units() const { return units_; }
  const net::Graph& graph() const { return *graph_; }
  plan::Plan plan() const; // the choices of the build
  const Footprint& footprint() const { return footprint_; }
  std::size_t unshared_bytes() const { return unshared_bytes_; } // the memory without sharing
  double operations() const;
  std::size_t link_count() const { return links_.size(); }
  const TensorDesc& desc_of(std::size_t node, std::size_t output) const;
  // Whether the program takes this output of a source in device memory that the host cannot reach.
  bool takes_delivered(std::size_t node, std::size_t output) const;

  // Starts measuring all steps, in order. Null: ends it.
  void measure(Clock* clock);
  const std::vector<Timing>& timings() const { return timings_.all(); }

 private:
  friend class Builder;
  enum class Act : std::uint8_t { arrive, feature, gradient, call, collect, update, check_losses };
  struct Step {
    Act act = Act::feature;
    Wanted wanted = Wanted::both;
    std::uint32_t sweep = 0;
    std::uint32_t index = 0; // of the source's node, frame, call, unit or update
    std::uint32_t frame = 0;
    SlotId gradient = no_slot; // for an update
    bool settles = false;      // it reads params updated earlier in the same step
  };
  // A conversion, addition or copy that core makes.
  struct Call {
    Op* op = nullptr; // null: a copy, or zeros without an input
    std::vector<SlotId> in;
    SlotId out = no_slot;
    Direction direction = Direction::within;
    bool leaves = false;          // for other workers
    HostCopies* beside = nullptr; // makes it beside the computing; null: the computing stream does
    std::size_t bytes = 0;
    float scalar = 1;
    const char* what = "";
    std::vector<const void*> inputs;
    void* output = nullptr;
  };
  // The pointers of one unit in one frame. `frame` has spans of these vectors.
  struct UnitFrame {
    std::size_t unit = 0;
    std::vector<SlotId> input_slots, output_slots, output_gradient_slots, input_gradient_slots, param_gradient_slots,
        buffer_slots;
    std::vector<const void*> inputs, output_gradients, params;
    std::vector<void*> outputs, input_gradients, param_gradients, buffers;
    Frame frame;
  };
  // An output of a source: the places to put the batch's address.
  struct Feed {
    std::size_t node = 0, output = 0;
    int frame = 0;
    SlotId slot = no_slot;
    bool delivered = false; // from the device copy, not the feeder's memory
    std::size_t row_bytes = 0;
    std::vector<const void**> readers;
  };

  Status run_steps();
  void abandon_step(); // waits until nothing of the step is queued
  Status execute(const Step&);
  void bind(const BatchView&);
  void set_passes(const BatchView&, const StepInfo&);
  Status read_metrics();
  Status read_tables();
  Status placed(Status);
  std::span<UnitFrame> frames_of(const Unit&);
  Status collect(const Unit&);

  const net::Graph* graph_ = nullptr;
  std::unique_ptr<net::Graph> owned_graph_;
  Device* device_ = nullptr;
  Stream* stream_ = nullptr;
  param::Store* store_ = nullptr;
  std::unique_ptr<ParamExchange> exchange_;
  plugin::Activity* activity_ = nullptr;
  int frames_ = 1;
  bool cut_ = false;
  bool training_ = false;
  std::optional<LossScale> loss_scale_;
  std::vector<Slot> slots_;
  std::vector<Unit> units_;
  std::vector<Link> links_;
  std::vector<std::unique_ptr<Op>> ops_; // of core's own calls
  std::vector<Call> calls_;
  std::vector<Step> steps_;
  std::vector<UnitFrame> unit_frames_; // unit * frames + frame
  std::vector<param::Param*> updated_; // in the order of their updates
  std::vector<Feed> feeds_;
  std::vector<Event*> arrived_; // by node, for this step's batch
  std::vector<Pass> passes_;
  std::vector<Metric> metrics_;
  std::vector<CountTable> tables_;
  Timings timings_;
  Memory arena_, scratch_;
  plugin::FarMemory far_arena_; // the device's memory, for the fault handler
  std::vector<std::byte> host_arena_;
  std::vector<float> metric_values_, table_values_;
  Footprint footprint_;
  std::size_t unshared_bytes_ = 0;
  StepInfo info_;
};

} // namespace dlhost::program
