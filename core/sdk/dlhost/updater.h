// Updaters compute a slice's new value from its gradient. An updater is a rule made of expressions, so that one plugin
// runs on workers, servers and GPUs, over any slices, fused by the device.
//
// The apply expression reads, in this order: value, gradient, then each history slot. Its results, in this order: the
// new value, then each history slot's. Its scalars, in this order: the rate (including schedule and rate_scale), the
// param's scale of weight decay, the factor on the gradient (clipping, loss scaling; usually 1), and then those of
// scalars(). Core may append results (a bf16 copy of the value), split a param into slices and run several at once.
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
    std::string name; // its name in checkpoints: "momentum"
    float initial = 0;
  };
  enum Scalar : std::uint16_t { rate, decay_scale, gradient_scale, first_own };

  struct Rule {
    std::vector<History> history;
    Expression apply;
    std::size_t own_scalars = 0;
    // Sums over the whole param that apply() needs first: the results of this expression over value, gradient and
    // history (with the same scalars), each summed. Empty: none.
    Expression partials;
  };
  virtual Rule rule() const = 0;

  struct When {
    std::uint64_t update = 0; // the number of this param's update, counted from 1
    double rate = 0;
  };
  // Writes the own scalars of one param's update. `sums`: the partials over the whole param. If the rule has partials,
  // this is called twice for each update: with empty sums for the partials expression, then with the sums.
  virtual void scalars(const When&, std::span<const double> sums, std::span<float> own) const;
};

} // namespace dlhost
