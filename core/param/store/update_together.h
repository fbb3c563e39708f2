// The updates of several params as one op over all of their elements: on a device that works behind the host, a launch
// for each of many small params would take longer than what it moves.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "param/store/update.h"

namespace dlhost::param {

// What two params have in common if they can be updated together: which scales their updates have, and which copies
// are written along. None: this one cannot.
struct Likeness {
  double rate_scale = 1, decay_scale = 1;
  std::vector<DType> copies;
  bool operator==(const Likeness&) const = default;
};
// Before anything is allocated.
std::optional<Likeness> likeness_of(const Param&, const Updater::Rule&);

class UpdateTogether {
 public:
  static constexpr std::size_t most_params = 64;
  static constexpr std::int64_t most_elements = std::int64_t{1} << 20; // of one of them
  static constexpr std::int64_t most_in_all = std::int64_t{1} << 23;   // their gradients are kept for the last of them

  // Of params that are alike, at the same update. Not ok: the device has no such op.
  static Result<std::unique_ptr<UpdateTogether>> prepare(Store&, std::vector<Update*>, const Updater::Rule&,
                                                         const UpdateSettings&);

  // As Update::run of each, with their gradients in the same order.
  Status run(std::span<const void* const> gradients, double rate, float gradient_scale);
  double bytes() const;

 private:
  explicit UpdateTogether(Store& store) : store_(store) {}

  Store& store_;
  std::vector<Update*> updates_;
  std::unique_ptr<Op> apply_;
  std::vector<const void*> inputs_; // of one after the other
  std::vector<void*> outputs_;
  std::size_t inputs_each_ = 0;
  Memory scratch_;
};

} // namespace dlhost::param
