// One worker's program: a net for one batch size, in the order that the algorithm recorded, with every tensor laid out
// and every op prepared. run() makes one step; it allocates nothing, looks nothing up and takes no lock. Thread: one
// task.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dlhost/host.h>

#include "plan/plan.h"
#include "program/arenas.h"
#include "program/exchange_builder.h"
#include "program/loan.h"
#include "program/loss_scale.h"
#include "program/param_exchange.h"
#include "program/row_ranges.h"
#include "program/source_feeds.h"
#include "program/step_results.h"
#include "program/timings.h"
#include "program/unit.h"

namespace dlhost::program {

// A program before it has memory.
struct ProgramParts {
  std::unique_ptr<net::Graph> graph;
  // These outlive the program.
  Device* device = nullptr;
  Stream* stream = nullptr;
  param::Store* store = nullptr;
  plugin::Activity* activity = nullptr;
  int frames = 1;
  bool cut = false; // each frame gets its part of the batch
  bool training = false;
  bool scales_loss = false;
  Slots slots;
  std::vector<Unit> units;
  std::vector<Link> links;
  UnitFrames unit_frames;
  std::vector<Step> steps;
  std::vector<Call> calls;
  std::vector<std::unique_ptr<Op>> ops; // of the calls and the borrowings
  std::vector<Loan> loans;
  std::vector<Borrowing> borrowings;
  std::vector<param::Param*> updated; // in the order of their updates
  Footprint footprint;
};

class Program {
 public:
  explicit Program(ProgramParts);
  ~Program();
  // Makes the memory and the exchange of params. Call once, before run() and the functions that read values.
  Status open(const UpdateRequest&);
  // Makes one step. Errors: Code::cancelled for a loss that is not finite; the params are then unchanged.
  Status run(const BatchView&, const StepInfo&);

  bool trains() const { return training_; }
  const std::vector<Metric>& metrics() const { return results_.metrics(); }
  std::vector<Metric>& metrics() { return results_.metrics(); }
  // Of an evaluating program.
  const std::vector<CountTable>& tables() const { return results_.tables(); }
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

  // The rows of the group's batch that it reads, in all frames.
  std::int64_t first_row() const { return rows_.first() * (cut_ ? frames_ : 1); }
  std::int64_t rows() const { return rows_.rows() * (cut_ ? frames_ : 1); }
  const std::vector<Unit>& units() const { return units_; }
  const net::Graph& graph() const { return *graph_; }
  plan::Plan plan() const; // the choices of the build
  const Footprint& footprint() const { return footprint_; }
  double operations() const;
  std::size_t link_count() const { return links_.size(); }
  const TensorDesc& desc_of(std::size_t node, std::size_t output) const;
  // Whether the program takes this output of a source in device memory that the host cannot reach.
  bool takes_delivered(std::size_t node, std::size_t output) const;

  // Starts measuring all steps, in order. Null: ends it.
  void measure(Clock* clock);
  const std::vector<Timing>& timings() const { return timings_.all(); }

 private:
  Status run_steps();
  void abandon_step(); // waits until nothing of the step is queued
  Status execute(const Step&);
  void set_passes(const BatchView&, const StepInfo&);
  Status borrow(const Borrowing&);
  Status read_results();
  Status placed(Status);
  Status collect(const Unit&);

  const std::unique_ptr<net::Graph> graph_;
  const RowRanges rows_;
  Device* const device_;
  Stream* const stream_;
  param::Store* const store_;
  std::unique_ptr<ParamExchange> exchange_;
  plugin::Activity* const activity_;
  const int frames_;
  const bool cut_, training_;
  std::optional<LossScale> loss_scale_;
  Slots slots_;
  const std::vector<Unit> units_;
  const std::vector<Link> links_;
  const std::vector<std::unique_ptr<Op>> ops_; // of core's own calls
  const std::vector<Loan> loans_;
  const std::vector<Borrowing> borrowings_;
  BoxExchange* boxes_ = nullptr;
  std::vector<Call> calls_;
  const std::vector<Step> steps_;
  UnitFrames unit_frames_;
  const std::vector<param::Param*> updated_; // in the order of their updates
  SourceFeeds feeds_;
  std::vector<Pass> passes_; // by frame and range of rows
  StepResults results_;
  Timings timings_;
  const Footprint footprint_;
  Arenas arenas_;
  StepInfo info_;
};

} // namespace dlhost::program
