// Initialisers whose spread depends on the number of inputs or outputs of a param: variance = gain / fan.
#pragma once

#include <cmath>

#include <dlhost/parts.h>
#include <dlhost/schema.h>

#include "gaussian.h"

namespace dlhost::plugins {

enum class Distribution { uniform, gaussian };
enum class Fan { in, out, average };

struct ScaledOptions {
  Distribution distribution = Distribution::uniform;
  Fan fan = Fan::average;
};

template <class Options> SchemaOf<Options> scaled(SchemaOf<Options> schema) {
  return schema
      .choice("distribution", static_cast<Distribution Options::*>(&ScaledOptions::distribution),
              {{"uniform", Distribution::uniform}, {"gaussian", Distribution::gaussian}}, "how values are drawn")
      .choice("fan", static_cast<Fan Options::*>(&ScaledOptions::fan),
              {{"in", Fan::in}, {"out", Fan::out}, {"average", Fan::average}},
              "the fan that the variance is divided by");
}

inline Status fill_scaled(const ScaledOptions& options, double gain, std::span<float> values,
                          const Initializer::Target& target, Random& random) {
  const auto in = static_cast<double>(target.fan_in);
  const auto out = static_cast<double>(target.fan_out);
  const double fan = options.fan == Fan::in ? in : options.fan == Fan::out ? out : (in + out) / 2;
  if (fan <= 0)
    return Status::invalid("this initialiser scales by the inputs and outputs that a param connects, but this param (",
                           to_string(target.shape), ") connects none: choose another, constant or gaussian");
  const double deviation = std::sqrt(gain / fan);
  Gaussian draw(random);
  const double limit = std::sqrt(3.0) * deviation;
  for (float& value : values)
    value = static_cast<float>(options.distribution == Distribution::gaussian
                                   ? deviation * draw()
                                   : limit * (2 * static_cast<double>(random.uniform()) - 1));
  return {};
}

} // namespace dlhost::plugins
