// One worker's program: the layers of a net at work on one batch size, in the order that the algorithm recorded, with
// every tensor laid in memory and every op prepared. run() makes one step; it allocates nothing, looks nothing up and
// takes no lock. A program belongs to one task.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <dlhost/host.h>

#include "param/store/update_together.h"
#include "param/table/device_sums.h"
#include "param/table/shared_params.h"
#include "plan/plan.h"
#include "plugin/faults.h"
#include "program/gradient_sums.h"
#include "program/host_copies.h"
#include "program/loss_scale.h"
#include "program/unit.h"
#include "record/table.h"

namespace dlhost::program {

// The batch of a step, as the feeder hands it over: for each source, by its node, the outputs in host memory, and, of
// those that the program takes there, on the device.
struct BatchView {
  struct SourceBatch {
    std::size_t node = 0;
    std::vector<void*> outputs;
    std::span<void* const> delivered; // null: not taken there. Empty: none is
    Event* arrived = nullptr;         // when all of `delivered` is there
  };
  std::vector<SourceBatch> sources;
  std::span<const std::uint32_t> samples;
  std::int64_t valid = 0;
};

struct StepInfo {
  Phase phase = Phase::train;
  std::uint64_t step = 0;
  std::uint32_t epoch = 0;
  std::uint64_t seed = 0;
  std::int64_t global_batch = 0;
  double rate = 0;
};

struct Metric {
  std::string name; // its layer's; with the metric's behind a point where the layer has several
  std::size_t node = 0;
  bool better_high = false;
  bool is_loss = false;
  double last_sum = 0, last_count = 0; // of the last step
  SlotId slot = no_slot;
  const float* host = nullptr;
};

// A table of counts, which an evaluation sums up.
struct CountTable {
  record::Table last; // of the last step
  SlotId slot = no_slot;
};

// The memory that it takes, known once it is laid out. A layer's activations are what of the arena is its own when the
// arena is fullest; its params come with histories and copies, and count only where the program is the first to use
// them.
struct Footprint {
  struct Part {
    std::string layer; // empty: what core puts between layers
    std::size_t activations = 0, params = 0;
  };
  std::vector<Part> parts;
  std::size_t arena = 0, scratch = 0, params = 0; // of the device
  std::size_t param_gradients = 0;                // the most of the arena that is theirs: no batch makes it smaller
  std::size_t host = 0;                           // beside it, where the host cannot reach the device's memory
};

// What one step of the program costs, when it is measured.
struct Timing {
  std::string what; // unit or param
  std::string type; // "dense", "sgd", "format"
  const char* direction = "";
  double seconds = 0;
  std::uint64_t calls = 0;
  double operations = 0, bytes = 0; // of a call; 0: not known
};

class Program {
 public:
  ~Program();
  // Makes one step. A loss that is not finite is a Status of Code::cancelled and leaves the params as they were.
  Status run(const BatchView&, const StepInfo&);

  bool trains() const { return training_; }
  const std::vector<Metric>& metrics() const { return metrics_; }
  std::vector<Metric>& metrics() { return metrics_; }
  // Of a program that does not train.
  const std::vector<CountTable>& tables() const { return tables_; }
  // The norm of the last step's gradients before clipping; none: norms are not computed.
  std::optional<double> gradient_norm() const { return sharing_ ? sharing_->gradient_norm() : gradient_norm_; }
  // Of one that computes in f16; null: gradients are as they are.
  LossScale* loss_scale() { return loss_scale_ ? &*loss_scale_ : nullptr; }
  const LossScale* loss_scale() const { return loss_scale_ ? &*loss_scale_ : nullptr; }
  // So many updates of each param are done already.
  void resume_at(std::uint64_t updates);
  // Of a program that does not train: what its batches hand on begins anew.
  Status restart();
  // The first layer whose output is not finite, with the batch of the last run(); empty: none is.
  Result<std::string> find_not_finite();
  // A kept output of the last step, on the host in plain f32.
  Result<std::vector<float>> read_output(std::size_t node, std::size_t output);

  const std::vector<Unit>& units() const { return units_; }
  const net::Graph& graph() const { return *graph_; }
  plan::Plan plan() const; // what was chosen
  const Footprint& footprint() const { return footprint_; }
  std::size_t unshared_bytes() const { return unshared_bytes_; } // were nothing shared
  double operations() const;
  std::size_t link_count() const { return links_.size(); }
  const TensorDesc& desc_of(std::size_t node, std::size_t output) const;
  // Whether it takes this output of a source on the device, whose memory the host cannot reach.
  bool takes_delivered(std::size_t node, std::size_t output) const;

  // Timings of the steps so far, in order; clock null ends the measuring.
  void measure(Clock* clock);
  const std::vector<Timing>& timings() const { return timings_; }

 private:
  friend class Builder;
  enum class Act : std::uint8_t { arrive, feature, gradient, call, collect, update, check_losses };
  struct Step {
    Act act = Act::feature;
    Wanted wanted = Wanted::both;
    std::uint32_t sweep = 0;
    std::uint32_t index = 0; // of a source's node, a frame, a call, a unit or an update
    std::uint32_t frame = 0;
    SlotId gradient = no_slot; // of an update
  };
  // A conversion, an addition or a copy that core makes itself.
  struct Call {
    Op* op = nullptr; // null: a copy, or zeros where there is nothing to copy
    std::vector<SlotId> in;
    SlotId out = no_slot;
    Direction direction = Direction::within;
    bool leaves = false; // for other workers, beside the computing where there is a way for that
    std::size_t bytes = 0;
    float scalar = 1;
    const char* what = "";
    std::vector<const void*> inputs;
    void* output = nullptr;
  };
  // The pointers of one unit in one frame. The vectors back the spans of `frame`.
  struct UnitFrame {
    std::size_t unit = 0;
    std::vector<SlotId> input_slots, output_slots, output_gradient_slots, input_gradient_slots, param_gradient_slots,
        buffer_slots;
    std::vector<const void*> inputs, output_gradients, params;
    std::vector<void*> outputs, input_gradients, param_gradients, buffers;
    Frame frame;
  };
  // Updates that are made as one, when the gradient of the last is there.
  struct Joined {
    std::vector<std::uint32_t> updates; // in the order of their steps
    std::vector<SlotId> gradients;
    std::unique_ptr<param::UpdateTogether> update;
    std::vector<const void*> data; // of the gradients
  };
  // An output of a source: where the batch's memory is to be put in.
  struct Feed {
    std::size_t node = 0, output = 0;
    int frame = 0;
    SlotId slot = no_slot;
    bool delivered = false; // on the device, not where the feeder put it
    std::size_t row_bytes = 0;
    std::vector<const void**> readers;
  };

  Status run_steps();
  void abandon_step(); // nothing of it is queued any more
  Status execute(const Step&);
  template <class Work> Status timed(std::size_t step, Work&& work);
  void bind(const BatchView&);
  void set_passes(const BatchView&, const StepInfo&);
  Status read_metrics();
  Status read_tables();
  Status placed(Status);
  std::span<UnitFrame> frames_of(const Unit&);
  Status collect(const Unit&);
  Status update(const Step&);
  Status apply(const Step&);
  Status settle();
  Joined* joined(std::uint32_t update);
  Status send_what_has_left();
  Status send_all();
  bool updates_at_the_end() const { return clip_norm_ > 0 || loss_scale_; }
  Status make_updates();

  const net::Graph* graph_ = nullptr;
  std::unique_ptr<net::Graph> owned_graph_;
  Device* device_ = nullptr;
  Stream* stream_ = nullptr;
  param::Store* store_ = nullptr;
  param::SharedParams* sharing_ = nullptr;
  std::unique_ptr<Leaving> leaving_; // null: what leaves is waited for
  param::DeviceSums* others_ = nullptr;
  std::unique_ptr<Summing> summing_;   // of all workers' gradients; null: there are no others, or they share params
  std::vector<bool> settles_;          // by step: it reads what has been updated before in the same step
  std::vector<const Step*> unsettled_; // updates that wait for their sums
  plugin::Activity* activity_ = nullptr;
  const plugin::Actor* updater_actor_ = nullptr;
  int frames_ = 1;
  bool cut_ = false;
  bool training_ = false;
  double clip_norm_ = 0;
  std::optional<double> gradient_norm_;
  std::optional<LossScale> loss_scale_;
  std::vector<Slot> slots_;
  std::vector<Unit> units_;
  std::vector<Link> links_;
  std::vector<std::unique_ptr<Op>> ops_; // of core's own calls
  std::vector<Call> calls_;
  std::vector<Step> steps_;
  std::vector<UnitFrame> unit_frames_;                  // unit * frames + frame
  std::vector<param::Param*> updated_;                  // in the order of their updates
  std::vector<std::unique_ptr<param::Update>> updates_; // of each; none where they are shared
  std::vector<Joined> joined_;
  std::vector<std::uint32_t> joined_of_; // by update: one more than the place of what it is joined with; 0: none
  std::vector<Feed> feeds_;
  std::vector<Event*> arrived_; // of this step's batch, by node
  std::vector<Pass> passes_;
  std::vector<Metric> metrics_;
  std::vector<CountTable> tables_;
  std::vector<Timing> timings_;
  Clock* clock_ = nullptr;
  Memory arena_, scratch_;
  plugin::FarMemory far_arena_; // where the device's memory is
  std::vector<std::byte> host_arena_;
  std::vector<float> metric_values_, table_values_;
  Footprint footprint_;
  std::size_t unshared_bytes_ = 0;
  StepInfo info_;
  float gradient_scale_ = 1;
};

} // namespace dlhost::program
