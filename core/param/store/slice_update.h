// The update of one slice, from the contributions of several workers: their sum and the updater's rule in one op.
// Prepared once; run by the server that owns the slice, and over whole params by a worker that has values of its own.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <dlhost/updater.h>

#include "param/store/store.h"
#include "param/store/sums.h"
#include "param/store/update.h"
#include "param/table/slices.h"

namespace dlhost::param {

class SliceUpdate {
 public:
  // Where the slots of a slice's history begin, in each of their copies.
  using Histories = std::vector<std::vector<float*>>;
  // For sums of `contributions` gradients.
  static Result<std::unique_ptr<SliceUpdate>> prepare(Store&, Param&, std::int64_t elements, Histories,
                                                      std::size_t contributions, const Updater&, const Updater::Rule&,
                                                      const UpdateSettings&);

  struct Run {
    std::int64_t first = 0;                   // of the slice's elements, where it is of some of them
    const float* from = nullptr;              // their value
    float* to = nullptr;                      // their new one; the same place, or another
    std::size_t history = 0, new_history = 0; // copies: the same, or another
    std::span<const float* const> gradients;
    std::uint64_t count = 0; // which update of the slice it is, from 1
    double rate = 0;
    float weight = 1; // of the sum
  };
  // The sum of the squares of the weighted sum's elements. Only where the settings clip by a norm.
  Result<double> squared_norm(const Run&);
  // The updater's partials over the slice; empty where its rule has none.
  Result<std::span<const double>> partials(const Run&);
  // What was computed is there when it returns: on a device that runs behind the host it waits. `sums`: the partials
  // over the whole param.
  Status run(const Run&, std::span<const double> sums);

 private:
  SliceUpdate(Store& store, Param& param, const Updater& updater) : store_(store), param_(param), updater_(updater) {}
  Status prepare_sums(const Updater::Rule&, const UpdateSettings&, std::size_t contributions, const TensorDesc& row);
  void set(const Run&, std::span<const double> sums);

  Store& store_;
  Param& param_;
  const Updater& updater_;
  Histories histories_;
  std::unique_ptr<Op> apply_, partials_, norm_; // the last two: null where they are not needed
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  std::vector<float> scalars_;
  Sums sums_;
  std::size_t partial_count_ = 0;
  Memory scratch_;
};

} // namespace dlhost::param
