// Convolution and transposed convolution: options, geometry and ops of both. They differ in the shape of the output and
// in the weight's axis of the output.
#pragma once

#include <utility>

#include <dlhost/partition.h>

#include "linear.h"
#include "window.h"

namespace dlhost::plugins {

struct ConvolutionOptions : WindowOptions {
  std::int64_t filters = 0;
  std::vector<std::int64_t> dilation{1};
  std::int64_t groups = 1;
  bool bias = true;
};

template <class Options> SchemaOf<Options> convolving(SchemaOf<Options> schema) {
  using Numbers = std::vector<std::int64_t>;
  return windowed(schema
                      .required("filters", static_cast<std::int64_t Options::*>(&ConvolutionOptions::filters),
                                at_least(1), "number of output channels")
                      .required("kernel", static_cast<Numbers Options::*>(&WindowOptions::kernel), at_least(1),
                                "size of the window: one number, or one for each spatial axis (one to three)")
                      .option("dilation", static_cast<Numbers Options::*>(&ConvolutionOptions::dilation),
                              "distance between neighbouring elements of the window", at_least(1))
                      .option("groups", static_cast<std::int64_t Options::*>(&ConvolutionOptions::groups),
                              "parts into which both channel axes are cut, each with its own filters", at_least(1))
                      .option("bias", static_cast<bool Options::*>(&ConvolutionOptions::bias), "add a learned bias"));
}

class Convolving : public Layer {
 public:
  Status setup(Setup& s) final {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    DLHOST_TRY(expect_rank(s, 0, 3, 5));
    const Shape& x = s.input(0);
    const ConvolutionOptions& o = options();
    DLHOST_TRY(settle_geometry(x.rank() - 2));
    if (x[1] % o.groups != 0 || o.filters % o.groups != 0)
      return Status::invalid("groups = ", o.groups, " must divide both the source's channels (", x[1],
                             ") and filters (", o.filters, ")");
    Shape y{x[0], o.filters},
        weight = spec_.transposed ? Shape{x[1], o.filters / o.groups} : Shape{o.filters, x[1] / o.groups};
    std::int64_t window = 1;
    for (std::size_t axis = 0; axis < kernel_.size(); ++axis) {
      const std::int64_t size = output_size(x[axis + 2], axis);
      if (size < 1)
        return Status::invalid("a window of ", reach(axis), " does not fit into axis ", axis + 2, " of ",
                               s.inputs[0].name, " (", to_string(x), ") with a pad of ", spec_.pad_low[axis]);
      y.push_back(size);
      weight.push_back(kernel_[axis]);
      window *= kernel_[axis];
    }
    s.output("y", y);
    s.param({.name = "weight",
             .shape = weight,
             .init = {"msra", {}},
             .fan_in = x[1] / o.groups * window,
             .fan_out = o.filters / o.groups * window});
    if (o.bias) s.param({.name = "bias", .shape = {o.filters}, .init = {"constant", {}}});
    s.accumulates = true;
    if (o.groups == 1) declare_splits(s);
    return {};
  }

  Status prepare(Prepare& p) final {
    spec_.x = {p.compute(), p.input(0).shape, Format::any()};
    return ops_.prepare(p, spec_, options().bias);
  }

  void compute_feature(const Pass& pass, Frame& f) const final { ops_.compute_feature(pass, f); }
  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const final {
    ops_.compute_gradient(pass, f, wanted);
  }

 protected:
  explicit Convolving(bool transposed) { spec_.transposed = transposed; }

  virtual const ConvolutionOptions& options() const = 0;
  virtual std::int64_t output_size(std::int64_t input, std::size_t axis) const = 0;
  // Settles geometry that only one of the two has.
  virtual Status settle_more(std::size_t axes) {
    (void)axes;
    return {};
  }

  // The number of input elements that a window spans along the axis.
  std::int64_t reach(std::size_t axis) const { return spec_.dilation[axis] * (kernel_[axis] - 1) + 1; }

  ConvSpec spec_;

 private:
  Status settle_geometry(std::size_t axes) {
    const ConvolutionOptions& o = options();
    DLHOST_ASSIGN(kernel_, each_axis("kernel", o.kernel, axes));
    DLHOST_ASSIGN(spec_.stride, each_axis("stride", o.stride, axes));
    DLHOST_TRY(settle_padding(o, axes, spec_));
    DLHOST_ASSIGN(spec_.dilation, each_axis("dilation", o.dilation, axes));
    spec_.groups = o.groups;
    return settle_more(axes);
  }

  // By filters, each piece reads the whole input. By input channels, each piece makes a summand; every piece would add
  // a bias, so this needs a layer without one.
  void declare_splits(Setup& s) const {
    using Need = Split::Need;
    const std::size_t filters = spec_.transposed ? 1 : 0; // axis of the weight
    Split by_filters{.axis = 1, .inputs = {{.need = Need::whole}}, .params = {{.need = Need::same, .axis = filters}}};
    if (options().bias) by_filters.params.push_back({.need = Need::same, .axis = 0});
    s.splits.push_back(std::move(by_filters));
    if (options().bias) return;
    s.splits.push_back({.axis = 1,
                        .inputs = {{.need = Need::same, .axis = 1}},
                        .params = {{.need = Need::same, .axis = 1 - filters}},
                        .sums_outputs = true});
  }

  std::vector<std::int64_t> kernel_;
  LinearOps<ConvSpec> ops_;
};

} // namespace dlhost::plugins
