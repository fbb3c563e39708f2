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
    if (o.groups == 1)
      declare_splits(s);
    else
      declare_groups(s);
    return {};
  }

  Status prepare(Prepare& p) final {
    spec_.x = {p.compute(), p.input(0).shape, Format::any()};
    if (spec_.groups > 1) spec_.groups = spec_.groups * p.output(0).shape[1] / options().filters;
    return ops_.prepare(p, spec_, options().bias && p.param_shape(1).count() > 0);
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

  // By filters, each piece reads the whole input. By input channels, each piece makes a summand.
  void declare_splits(Setup& s) const {
    const std::size_t of_filters = spec_.transposed ? 1 : 0; // axis of the weight
    Split filters{.name = "features",
                  .length = options().filters,
                  .inputs = {{}},
                  .params = {along(of_filters)},
                  .outputs = {along(1)}};
    Split inputs{.name = "inputs",
                 .length = s.input(0)[1],
                 .inputs = {along(1)},
                 .params = {along(1 - of_filters)},
                 .outputs = {{.need = Split::Need::sum}}};
    if (options().bias) filters.params.push_back(along(0));
    if (options().bias) inputs.params.push_back({.need = Split::Need::once});
    s.splits = {std::move(filters), std::move(inputs)};
  }

  // Each group has its own filters, channels and biases.
  void declare_groups(Setup& s) const {
    const ConvolutionOptions& o = options();
    const std::int64_t filters = o.filters / o.groups, channels = s.input(0)[1] / o.groups;
    Split groups{.name = "features",
                 .length = o.groups,
                 .inputs = {along(1, channels)},
                 .params = {along(0, spec_.transposed ? channels : filters)},
                 .outputs = {along(1, filters)}};
    if (o.bias) groups.params.push_back(along(0, filters));
    s.splits = {std::move(groups)};
  }

  std::vector<std::int64_t> kernel_;
  LinearOps<ConvSpec> ops_;
};

} // namespace dlhost::plugins
