#include <algorithm>

#include <dlhost/parts.h>
#include <dlhost/plugin.h>

namespace dlhost::plugins {

class Constant final : public Initializer {
 public:
  static constexpr std::string_view name = "constant";
  struct Options {
    double value = 0;
  };
  static Schema schema() {
    return SchemaOf<Options>("The same value everywhere.").option("value", &Options::value, "the value");
  }
  explicit Constant(Options options) : options_(options) {}

  Status fill(std::span<float> values, const Target&, Random&) const override {
    std::ranges::fill(values, static_cast<float>(options_.value));
    return {};
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Constant);
