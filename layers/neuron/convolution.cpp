#include <dlhost/plugin.h>

#include "convolution.h"

namespace dlhost::plugins {

class Convolution final : public Convolving {
 public:
  static constexpr std::string_view name = "convolution";
  using Options = ConvolutionOptions;
  static Schema schema() {
    return convolving(SchemaOf<Options>("Convolution over one to three spatial axes of x[n, c, ...]."));
  }
  explicit Convolution(Options options) : Convolving(false), options_(std::move(options)) {}

 protected:
  const ConvolutionOptions& options() const override { return options_; }

  std::int64_t output_size(std::int64_t input, std::size_t axis) const override {
    const std::int64_t room = input + spec_.pad_low[axis] + spec_.pad_high[axis] - reach(axis);
    return room < 0 ? 0 : room / spec_.stride[axis] + 1;
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Convolution);
