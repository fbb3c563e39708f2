// The update of one slice from the contributions of several workers: their sum and the updater's rule in one op.
// Prepared once. Run by the server that owns the slice, and over whole params by a worker with values of its own.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <dlhost/updater.h>

#include "param/store/prepared_rule.h"
#include "param/store/store.h"
#include "param/table/slices.h"

namespace dlhost::param {

class SliceUpdate {
 public:
  // Addresses of the slots of a slice's history, for each copy.
  using Histories = std::vector<std::vector<float*>>;
  // `contributions`: the number of gradients to sum.
  static Result<std::unique_ptr<SliceUpdate>> prepare(Store&, Param&, std::int64_t elements, Histories,
                                                      std::size_t contributions, const Updater&, const Updater::Rule&,
                                                      const UpdateSettings&);

  struct Run {
    std::int64_t first = 0;                   // first element, if the update is of a part of the slice
    const float* from = nullptr;              // the present values
    float* to = nullptr;                      // the new values; may equal `from`
    std::size_t history = 0, new_history = 0; // number of the copy; may be equal
    std::span<const float* const> gradients;
    std::uint64_t count = 0; // number of this update of the slice, from 1
    double rate = 0;
    float weight = 1; // factor on the sum
  };
  // The sum of squares of the weighted sum. Requires: the settings clip by a norm.
  Result<double> squared_norm(const Run&);
  // The updater's partials over the slice; empty if its rule has none.
  Result<std::span<const double>> partials(const Run&);
  // Waits until the result is complete. `sums`: the partials over the whole param.
  Status run(const Run&, std::span<const double> sums);

 private:
  explicit SliceUpdate(Store& store) : store_(store) {}
  void set(const Run&, std::span<const double> sums);

  Store& store_;
  PreparedRule rule_;
  Histories histories_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
};

} // namespace dlhost::param
