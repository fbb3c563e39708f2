// Which samples make a step: a pure function of seed, group and step, so that a resumed run, the ledger and any number
// of readers agree without a word between them. Nothing here grows with the number of samples.
//
// The samples of a pass (an epoch) have places 0, 1, ... in that pass' order; a step takes the next ones.
#pragma once

#include <cstdint>
#include <limits>

#include <dlhost/random.h>
#include <dlhost/status.h>

#include "param/table/sample_origin.h"
#include "run/input/permutation.h"

namespace dlhost::run {

// What each worker group trains on.
enum class Share : std::uint8_t {
  shared,    // every group passes over all samples, in an order of its own
  disjoint,  // the groups pass over all samples together: in an epoch no sample comes to two of them, and step s of
             // all groups together is step s of one group with as many times the batch
  bootstrap, // every group has drawn as many samples as there are, with replacement, once for the whole run
};

// What is done when an epoch's samples do not fill the last batch.
enum class Last : std::uint8_t {
  drop,    // they are left out, others in each epoch
  wrap,    // the batch goes on into the next epoch
  partial, // the batch has fewer valid rows; the rest repeat a sample
};

using param::SampleOrigin;

struct SamplingSpec {
  std::int64_t batch = 0; // rows of one group's batch
  // The rows of the group's batch that this worker reads; 0 rows: all of them.
  std::int64_t first_row = 0, rows = 0;
  std::uint64_t seed = 0;
  std::uint32_t stream = 0; // the source's, so that two sources of one job draw apart
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
  // Says what is wrong: no samples, too many, a batch that drop leaves nothing of.
  static Result<Sampling> make(const SamplingSpec&, std::int64_t samples);

  struct Place {
    std::uint32_t epoch;
    std::uint64_t index; // in the epoch's order
  };

  const SamplingSpec& spec() const { return spec_; }
  std::int64_t rows() const { return spec_.rows; }
  std::uint64_t stride() const { return stride_; }
  // Steps are counted from there.
  void move(const SampleOrigin&);
  // The place of the order that a step begins with, for all groups that pass over it together. No step before the
  // origin has one of its own.
  Place start(std::uint64_t step) const;

  // Row `row` of this worker's rows of a step.
  Place place(std::uint64_t step, std::int64_t row) const;
  // Those of its rows that count; the others follow them.
  std::int64_t valid(std::uint64_t step) const;
  // Those of the whole batch, of all the group's workers.
  std::int64_t batch_valid(std::uint64_t step) const;
  // Passes over the data that are done when `steps` steps are.
  double epochs(std::uint64_t steps) const;
  // The number of steps after which at least `epochs` passes are done.
  std::uint64_t steps(double epochs) const;

  // An epoch's order: the source's sample for each index.
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
  std::uint64_t offset_;          // where this worker's rows begin among them
  std::uint64_t steps_per_epoch_; // drop and partial
  std::uint64_t first_steps_ = 0; // the same, that the epoch of the origin has from there on
};

} // namespace dlhost::run
