// Updaters: they turn a slice's gradient into its new value. An updater is a rule made of expressions, so that one
// plugin runs on a worker, on a server and on a GPU alike, over any slices, fused by the device as it likes.
//
// The apply expression reads, in this order: value, gradient, then each history slot; its results are, in this order:
// the new value, then each history slot's. Its scalars are, in this order: the rate (schedule, rate_scale and all), the
// weight decay's scale of the param, the factor by which the gradient is to be multiplied (clipping, loss scaling;
// mostly 1), and then what scalars() writes.
// Core may append results (a bf16 copy of the value), split a param into slices and run several at once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <dlhost/expression.h>
#include <dlhost/kind.h>
#include <dlhost/status.h>

namespace dlhost {

class DLHOST_API Updater : public Plugin {
 public:
  static constexpr Kind kind = Kind::updater;

  struct History {
    std::string name; // "momentum": its name in checkpoints
    float initial = 0;
  };
  enum Scalar : std::uint16_t { rate, decay_scale, gradient_scale, first_own };

  struct Rule {
    std::vector<History> history;
    Expression apply;
    std::size_t own_scalars = 0;
    // Sums that apply() needs of the whole param before it can start: the results of this expression over value,
    // gradient and history (the same scalars), each summed. Empty: none.
    Expression partials;
  };
  virtual Rule rule() const = 0;

  struct When {
    std::uint64_t update = 0; // of this param, counted from 1
    double rate = 0;
  };
  // Writes the own scalars of one param's update. `sums` are the partials over the whole param. Where the rule has
  // partials this is called twice an update: with empty sums for what the partials read, then with the sums.
  virtual void scalars(const When&, std::span<const double> sums, std::span<float> own) const;
};

} // namespace dlhost
