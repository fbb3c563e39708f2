// The running means of gradients and of their squares in Adam and its variants, and the corrections of their bias.
#pragma once

#include <cmath>

#include "terms.h"

namespace dlhost::plugins {

struct MomentOptions : DecayOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  bool amsgrad = false; // for adam and adamw
};

template <class Options> SchemaOf<Options> with_moments(SchemaOf<Options> schema) {
  return schema
      .option("beta1", static_cast<double Options::*>(&MomentOptions::beta1),
              "share of the old mean of gradients that stays", from_below(0, 1))
      .option("beta2", static_cast<double Options::*>(&MomentOptions::beta2),
              "share of the old mean of their squares that stays", from_below(0, 1))
      .option("epsilon", static_cast<double Options::*>(&MomentOptions::epsilon), "is added to the root", above(0));
}

template <class Options> SchemaOf<Options> with_amsgrad(SchemaOf<Options> schema) {
  return schema.option("amsgrad", static_cast<bool Options::*>(&MomentOptions::amsgrad),
                       "divide by the root of the greatest mean of squares so far (Reddi et al. 2018)");
}

// For updaters whose decay is not part of the gradient.
template <class Options> SchemaOf<Options> decoupled(SchemaOf<Options> schema) {
  return decayed(std::move(schema), "decoupled: rate times this share of the value is subtracted from it");
}

// m' = beta1 m + (1 - beta1) g;  v' = beta2 v + (1 - beta2) g^2: history slots 0 and 1, and results 1 and 2.
struct Moments {
  Moments(Terms& terms, const MomentOptions& options, Term gradient)
      : first(options.beta1 * terms.history(0) + (1 - options.beta1) * gradient),
        second(options.beta2 * terms.history(1) + (1 - options.beta2) * gradient * gradient) {}

  static std::vector<Updater::History> history() { return {{"mean"}, {"square_mean"}}; }

  Term first, second;
};

// The factor that makes a mean that started from 0 unbiased.
inline double correction(double beta, std::uint64_t update) {
  return 1 / (1 - std::pow(beta, static_cast<double>(update)));
}

// Adam and variants that differ only in the direction of a step: w' = w - rate direction.
class MomentUpdater : public Updater {
 public:
  using Options = MomentOptions;

  Rule rule() const final {
    Rule rule;
    rule.history = Moments::history();
    rule.own_scalars = 3;
    Terms terms(rule.apply);
    const Term gradient = this->gradient(terms);
    const Moments moments(terms, options_, gradient);
    const Term squares = options_.amsgrad ? max(terms.history(2), moments.second) : moments.second;
    const Term root = sqrt(squares * terms.own(1)) + options_.epsilon;
    rule.apply.result(terms.value() - terms.rate() * direction(terms, moments.first, gradient, root));
    rule.apply.result(moments.first);
    rule.apply.result(moments.second);
    if (!options_.amsgrad) return rule;
    rule.history.push_back({"greatest_square_mean"});
    rule.apply.result(squares);
    return rule;
  }

  // The corrections of the first mean, of the second, and of the first one step later.
  void scalars(const When& when, std::span<const double>, std::span<float> own) const override {
    own[0] = static_cast<float>(correction(options_.beta1, when.update));
    own[1] = static_cast<float>(correction(options_.beta2, when.update));
    own[2] = static_cast<float>(correction(options_.beta1, when.update + 1));
  }

 protected:
  explicit MomentUpdater(Options options) : options_(options) {}
  virtual Term gradient(Terms& terms) const { return terms.gradient_with(options_); }
  virtual Term direction(Terms& terms, Term mean, Term gradient, Term root) const = 0;

  Options options_;
};

} // namespace dlhost::plugins
