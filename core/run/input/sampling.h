// The samples of a step, as a pure function of seed, group and step. So a resumed run, the ledger and any number of
// readers agree without messages. Memory does not grow with the number of samples.
//
// The samples of an epoch have places 0, 1, ... in that epoch's order; a step takes the next ones.
#pragma once

#include <cstdint>
#include <limits>

#include <dlhost/random.h>
#include <dlhost/status.h>

#include "param/table/sample_origin.h"
#include "run/input/permutation.h"

namespace dlhost::run {

// The samples that each worker group trains on.
enum class Share : std::uint8_t {
  shared,    // each group takes all samples, in its own order
  disjoint,  // the groups take all samples together: in an epoch no sample goes to two groups, and step s of all groups
             // together equals step s of one group with the batch times the number of groups
  bootstrap, // each group draws as many samples as there are, with replacement, once for the whole run
};

// Handling of the last batch, if an epoch's samples do not fill it.
enum class Last : std::uint8_t {
  drop,    // they are left out; other samples in each epoch
  wrap,    // the batch continues in the next epoch
  partial, // the batch has fewer valid rows; the rest repeat a sample
};

using param::SampleOrigin;

struct SamplingSpec {
  std::int64_t batch = 0; // rows of one group's batch
  // The rows of the group's batch that this worker reads; 0 rows: all of them.
  std::int64_t first_row = 0, rows = 0;
  std::uint64_t seed = 0;
  std::uint32_t stream = 0; // the source's, so that two sources of a job draw independently
  int group = 0, groups = 1;
  Share share = Share::shared;
  Last last = Last::wrap;
  bool shuffle = true;
  SampleOrigin origin;

  // For validation and tests: each sample once in an epoch, over all groups together, in the source's order.
  SamplingSpec evaluation() const {
    SamplingSpec spec = *this;
    spec.share = Share::disjoint;
    spec.last = Last::partial;
    spec.shuffle = false;
    spec.origin = {};
    return spec;
  }
};

class Sampling {
 public:
  // Errors: no samples, too many, or too few for one batch under `drop`.
  static Result<Sampling> make(const SamplingSpec&, std::int64_t samples);

  struct Place {
    std::uint32_t epoch;
    std::uint64_t index; // in the epoch's order
  };

  const SamplingSpec& spec() const { return spec_; }
  std::int64_t rows() const { return spec_.rows; }
  std::uint64_t stride() const { return stride_; }
  // Counts steps from this origin.
  void move(const SampleOrigin&);
  // The place in the order with which a step begins, for all groups that share the order. Steps before the origin get
  // the origin's place.
  Place start(std::uint64_t step) const;

  // The place of row `row` of this worker in a step.
  Place place(std::uint64_t step, std::int64_t row) const;
  // The number of this worker's rows that count. They come first.
  std::int64_t valid(std::uint64_t step) const;
  // The same for the batch of all the group's workers.
  std::int64_t batch_valid(std::uint64_t step) const;
  // Epochs done after `steps` steps.
  double epochs(std::uint64_t steps) const;
  // The number of steps after which at least `epochs` epochs are done.
  std::uint64_t steps(double epochs) const;

  // The order of an epoch: the source's sample number for each index.
  class Order {
   public:
    std::uint32_t operator[](std::uint64_t index) const;

   private:
    friend class Sampling;
    Order(const Sampling& sampling, std::uint32_t epoch);
    const Sampling* sampling_;
    Permutation permutation_;
  };
  Order order(std::uint32_t epoch) const { return {*this, epoch}; }

 private:
  Sampling(const SamplingSpec& spec, std::uint64_t samples);
  std::int64_t valid(std::uint64_t step, std::uint64_t offset, std::int64_t rows) const;
  std::uint64_t full_steps(std::uint64_t samples) const;
  double per_epoch() const;
  double first_epochs() const;
  bool dealt() const { return spec_.share == Share::disjoint; }

  SamplingSpec spec_;
  std::uint64_t samples_;
  std::uint64_t stride_;          // samples that a step takes from the order
  std::uint64_t offset_;          // start of this worker's rows in the step
  std::uint64_t steps_per_epoch_; // drop and partial
  std::uint64_t first_steps_ = 0; // steps from the origin to the end of its epoch
};

} // namespace dlhost::run
