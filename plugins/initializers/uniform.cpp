#include <dlhost/parts.h>
#include <dlhost/plugin.h>

namespace dlhost::plugins {

class Uniform final : public Initializer {
 public:
  static constexpr std::string_view name = "uniform";
  struct Options {
    double low = -0.1, high = 0.1;
  };
  static Schema schema() {
    return SchemaOf<Options>("Uniform between two values.")
        .option("low", &Options::low, "the least value")
        .option("high", &Options::high, "the bound above all values");
  }
  explicit Uniform(Options options) : options_(options) {}

  Status fill(std::span<float> values, const Target&, Random& random) const override {
    if (options_.low > options_.high) return Status::invalid("low is ", options_.low, ", but high is ", options_.high);
    for (float& value : values)
      value = static_cast<float>(options_.low + (options_.high - options_.low) * static_cast<double>(random.uniform()));
    return {};
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Uniform);
