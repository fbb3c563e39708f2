#include <dlhost/partition.h>
#include <dlhost/plugin.h>

#include "op_pair.h"
#include "window.h"

namespace dlhost::plugins {

class Pooling final : public Layer {
 public:
  static constexpr std::string_view name = "pooling";
  struct Options : WindowOptions {
    PoolSpec::Kind method = PoolSpec::Kind::max;
    bool global = false;
    bool ceil = false;
    bool count_padding = false;
  };
  static Schema schema() {
    return windowed(SchemaOf<Options>("The greatest or the average element of each window of x[n, c, ...].")
                        .choice("method", &Options::method,
                                {{"max", PoolSpec::Kind::max}, {"average", PoolSpec::Kind::average}},
                                "the result of a window: its greatest or its average element")
                        .option("kernel", static_cast<std::vector<std::int64_t> Options::*>(&Options::kernel),
                                "size of the window: one number, or one for each spatial axis", at_least(1))
                        .option("global", &Options::global, "one window over all of the spatial axes")
                        .option("ceil", &Options::ceil, "a last window that is only partly inside counts as well")
                        .option("count_padding", &Options::count_padding,
                                "an average divides by the padding's elements, too: by those of pad and pad_end"));
  }
  explicit Pooling(Options options) : options_(std::move(options)) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    DLHOST_TRY(expect_rank(s, 0, 3, 5));
    const Shape& x = s.input(0);
    DLHOST_TRY(options_.global ? settle_global(x) : settle_window(x.rank() - 2));
    Shape y{x[0], x[1]};
    spec_.uncounted.assign(x.rank() - 2, 0);
    for (std::size_t axis = 0; axis < x.rank() - 2; ++axis) {
      DLHOST_ASSIGN(const std::int64_t size, settle_size(s, axis));
      y.push_back(size);
    }
    s.output("y", y);
    s.reads = {.inputs = false, .outputs = false};
    s.splits.push_back(split_along(s, 1));
    return {};
  }

  Status prepare(Prepare& p) override {
    spec_.kind = options_.method;
    spec_.count_padding = options_.count_padding;
    return ops_.prepare(p, spec_);
  }

  void compute_feature(const Pass& pass, Frame& f) const override { ops_.compute_feature(pass, f); }
  void compute_gradient(const Pass& pass, Frame& f, Wanted wanted) const override {
    ops_.compute_gradient(pass, f, wanted, std::array<const void*, 1>{f.output_gradient(0)});
  }

 private:
  Status settle_global(const Shape& x) {
    if (!options_.kernel.empty()) return Status::invalid("global takes the source's size as kernel: leave kernel out");
    spec_.window.assign(x.begin() + 2, x.end());
    spec_.stride.assign(spec_.window.size(), 1);
    spec_.pad_low.assign(spec_.window.size(), 0);
    spec_.pad_high = spec_.pad_low;
    return {};
  }

  Status settle_window(std::size_t axes) {
    if (options_.kernel.empty()) return Status::invalid("needs a kernel, or global = true");
    DLHOST_ASSIGN(spec_.window, each_axis("kernel", options_.kernel, axes));
    DLHOST_ASSIGN(spec_.stride, each_axis("stride", options_.stride, axes));
    DLHOST_TRY(settle_padding(options_, axes, spec_));
    for (std::size_t axis = 0; axis < axes; ++axis)
      for (const std::int64_t pad : {spec_.pad_low[axis], spec_.pad_high[axis]})
        if (pad >= spec_.window[axis])
          return Status::invalid(pad == spec_.pad_low[axis] ? "pad is " : "pad_end is ", pad,
                                 ", but must be below the kernel, ", spec_.window[axis],
                                 ": no window may be all padding");
    return {};
  }

  // The output's size along an axis. In ceil mode the padding at the end grows as far as the last window needs, which
  // must start inside the source or the padding before it; the added padding never counts in averages.
  Result<std::int64_t> settle_size(const Setup& s, std::size_t axis) {
    const std::int64_t size = s.input(0)[axis + 2];
    const std::int64_t window = spec_.window[axis], stride = spec_.stride[axis];
    const std::int64_t pad = spec_.pad_low[axis], pad_end = spec_.pad_high[axis], room = size + pad + pad_end - window;
    if (room < 0)
      return Status::invalid("a window of ", window, " does not fit into axis ", axis + 2, " of ", s.inputs[0].name,
                             " (", to_string(s.input(0)), ") with a pad of ", pad);
    if (!options_.ceil) return room / stride + 1;
    std::int64_t count = (room + stride - 1) / stride + 1;
    if ((count - 1) * stride >= size + pad) --count;
    spec_.pad_high[axis] = std::max(pad_end, (count - 1) * stride + window - size - pad);
    spec_.uncounted[axis] = spec_.pad_high[axis] - pad_end;
    return count;
  }

  Options options_;
  PoolSpec spec_;
  OpPair<PoolSpec> ops_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Pooling);
