// The common start of all updaters' rules: the value, the gradient with its factor, and weight decay if it is added to
// the gradient (L2).
#pragma once

#include <dlhost/schema.h>
#include <dlhost/updater.h>

namespace dlhost::plugins {

struct DecayOptions {
  double weight_decay = 0;
};

template <class Options> SchemaOf<Options> decayed(SchemaOf<Options> schema, std::string doc) {
  return schema.option("weight_decay", static_cast<double Options::*>(&DecayOptions::weight_decay), std::move(doc),
                       at_least(0));
}

// For updaters whose decay is part of the gradient.
template <class Options> SchemaOf<Options> decayed(SchemaOf<Options> schema) {
  return decayed(std::move(schema), "L2: this share of the value is added to the gradient");
}

// The terms of a rule under construction.
class Terms {
 public:
  explicit Terms(Expression& rule) : rule_(rule) {}

  Term value() { return rule_.input(0); }
  Term gradient() { return rule_.input(1) * rule_.scalar(Updater::gradient_scale); }
  Term gradient_with(const DecayOptions& options) {
    const Term plain = gradient();
    return options.weight_decay == 0 ? plain : plain + decay(options);
  }
  // The weight decay of a value, before the rate.
  Term decay(const DecayOptions& options) {
    return options.weight_decay * rule_.scalar(Updater::decay_scale) * value();
  }
  Term history(std::uint16_t slot) { return rule_.input(static_cast<std::uint16_t>(2 + slot)); }
  Term rate() { return rule_.scalar(Updater::rate); }
  Term own(std::uint16_t which) { return rule_.scalar(static_cast<std::uint16_t>(Updater::first_own + which)); }

 private:
  Expression& rule_;
};

} // namespace dlhost::plugins
