// The running means of gradients and of their squares that Adam and its kin keep, and the corrections of their bias.
#pragma once

#include <cmath>

#include "terms.h"

namespace dlhost::plugins {

struct MomentOptions : DecayOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};

template <class Options> SchemaOf<Options> with_moments(SchemaOf<Options> schema) {
  return schema
      .option("beta1", static_cast<double Options::*>(&MomentOptions::beta1),
              "share of the old mean of gradients that stays", from_below(0, 1))
      .option("beta2", static_cast<double Options::*>(&MomentOptions::beta2),
              "share of the old mean of their squares that stays", from_below(0, 1))
      .option("epsilon", static_cast<double Options::*>(&MomentOptions::epsilon), "is added to the root", above(0));
}

// For the updaters whose decay is not part of the gradient.
template <class Options> SchemaOf<Options> decoupled(SchemaOf<Options> schema) {
  return decayed(std::move(schema), "decoupled: rate times so much of the value is taken from it");
}

// m' = beta1 m + (1 - beta1) g;  v' = beta2 v + (1 - beta2) g^2: history slots 0 and 1, and results 1 and 2.
struct Moments {
  Moments(Terms& terms, const MomentOptions& options, Term gradient)
      : first(options.beta1 * terms.history(0) + (1 - options.beta1) * gradient),
        second(options.beta2 * terms.history(1) + (1 - options.beta2) * gradient * gradient) {}

  static std::vector<Updater::History> history() { return {{"mean"}, {"square_mean"}}; }

  Term first, second;
};

// What makes an unbiased mean of one that started from 0.
inline double correction(double beta, std::uint64_t update) {
  return 1 / (1 - std::pow(beta, static_cast<double>(update)));
}

} // namespace dlhost::plugins
