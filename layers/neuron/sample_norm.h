// Layers that normalise each sample alone: over the axes from one on (layer norm, RMS norm), or over groups of
// channels.
#pragma once

#include <dlhost/layer.h>
#include <dlhost/schema.h>

#include "norm.h"

namespace dlhost::plugins {

class SampleNorm : public Layer {
 public:
  Status prepare(Prepare& p) final { return ops_.prepare(p); }
  void compute_feature(const Pass& pass, Frame& f) const final { ops_.compute_feature(pass, f); }
  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const final {
    ops_.compute_gradient(pass, f, wanted);
  }

 protected:
  // Refuses to train if each mean is over one value: its variance is 0, and each output the shift.
  static Status check_values(const Setup& s, std::int64_t values, const char* each, const char* remedy) {
    if (s.phase != Phase::train || values != 1) return {};
    return Status::invalid("trains on one value for each ", each,
                           ", whose variance is 0, so that every output would be the shift: its input is ",
                           to_string(s.input(0)), "; ", remedy);
  }

  NormOps ops_; // set up by the layer
};

struct AxisNormOptions {
  std::int64_t axis = 1;
  double epsilon = 1e-5;
};

template <class Options>
SchemaOf<Options> by_axis(SchemaOf<Options> schema, const std::string& what_over, const std::string& what_to) {
  return schema
      .option("axis", static_cast<std::int64_t Options::*>(&AxisNormOptions::axis),
              what_over + " this axis and all after it", between(1, static_cast<double>(max_rank - 1)))
      .option("epsilon", static_cast<double Options::*>(&AxisNormOptions::epsilon), "is added to the " + what_to,
              above(0));
}

class AxisNorm : public SampleNorm {
 public:
  Status setup(Setup& s) final {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    NormSpec spec;
    spec.kind = kind_;
    spec.axis = static_cast<std::size_t>(options_.axis);
    spec.epsilon = options_.epsilon;
    DLHOST_TRY(expect_rank(s, 0, spec.axis + 1));
    if (kind_ == NormSpec::Kind::layer) // RMS norm has no mean: one value keeps its sign
      DLHOST_TRY(check_values(s, s.input(0).past(spec.axis), "sample",
                              "leave the layer out, or name an axis with more values behind it"));
    ops_.setup(s, spec);
    return {};
  }

 protected:
  AxisNorm(NormSpec::Kind kind, AxisNormOptions options) : kind_(kind), options_(options) {}

 private:
  NormSpec::Kind kind_;
  AxisNormOptions options_;
};

} // namespace dlhost::plugins
