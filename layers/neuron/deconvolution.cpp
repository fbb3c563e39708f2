#include <dlhost/plugin.h>

#include "convolution.h"

namespace dlhost::plugins {

class Deconvolution final : public Convolving {
 public:
  static constexpr std::string_view name = "deconvolution";
  struct Options : ConvolutionOptions {
    std::vector<std::int64_t> output_pad{0};
  };
  static Schema schema() {
    return convolving(SchemaOf<Options>("Transposed convolution: the geometry of a convolution from y to x."))
        .option("output_pad", &Options::output_pad,
                "elements more at the end of each output axis, for sizes that several inputs would share", at_least(0));
  }
  explicit Deconvolution(Options options) : Convolving(true), options_(std::move(options)) {}

 protected:
  const ConvolutionOptions& options() const override { return options_; }

  // output_pad extends the output by the rows that the convolution back to the input would leave out at its end.
  Status settle_more(std::size_t axes) override {
    DLHOST_ASSIGN(const auto more, each_axis("output_pad", options_.output_pad, axes));
    for (std::size_t axis = 0; axis < axes; ++axis) {
      if (more[axis] >= spec_.stride[axis])
        return Status::invalid("output_pad is ", more[axis], ", but must be below the stride, ", spec_.stride[axis]);
      spec_.pad_high[axis] -= more[axis];
    }
    return {};
  }

  std::int64_t output_size(std::int64_t input, std::size_t axis) const override {
    return (input - 1) * spec_.stride[axis] + reach(axis) - spec_.pad_low[axis] - spec_.pad_high[axis];
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Deconvolution);
