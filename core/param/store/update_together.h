// Updates several params by one op over all their elements. On an asynchronous device the launch of an op for a small
// param takes longer than its memory traffic.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "param/store/update.h"

namespace dlhost::param {

// The properties in which params must agree to be updated together: the scales, and the copies written in the same
// pass. Empty: the param cannot be updated together with others.
struct Likeness {
  double rate_scale = 1, decay_scale = 1;
  std::vector<DType> copies;
  bool operator==(const Likeness&) const = default;
};
// Requires nothing allocated.
std::optional<Likeness> likeness_of(const Param&, const Updater::Rule&);

class UpdateTogether {
 public:
  static constexpr std::size_t most_params = 64;
  static constexpr std::int64_t most_elements = std::int64_t{1} << 20; // of one param
  static constexpr std::int64_t most_in_all = std::int64_t{1} << 23;   // gradients are kept until the last is ready

  // Requires: the params have equal likeness and update counts. Errors: the device has no such op.
  static Result<std::unique_ptr<UpdateTogether>> prepare(Store&, std::vector<Update*>, const Updater::Rule&,
                                                         const UpdateSettings&);

  // Runs the updates with the gradients in the same order.
  Status run(std::span<const void* const> gradients, double rate, float gradient_scale);
  double bytes() const;

 private:
  explicit UpdateTogether(Store& store) : store_(store) {}

  Store& store_;
  std::vector<Update*> updates_;
  std::unique_ptr<Op> apply_;
  std::vector<const void*> inputs_; // param after param
  std::vector<void*> outputs_;
  std::size_t inputs_each_ = 0;
  Memory scratch_;
};

} // namespace dlhost::param
