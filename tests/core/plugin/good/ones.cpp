// A sound plugin with two products.
#include <algorithm>

#include <dlhost/parts.h>
#include <dlhost/plugin.h>

namespace {

class Ones : public dlhost::Initializer {
 public:
  static constexpr std::string_view name = "ones";
  struct Options {
    double scale = 1;
  };
  static dlhost::Schema schema() {
    return dlhost::SchemaOf<Options>("Every element the same.").option("scale", &Options::scale, "the value");
  }
  explicit Ones(Options options) : scale_(static_cast<float>(options.scale)) {}
  dlhost::Status fill(std::span<float> values, const Target&, dlhost::Random&) const override {
    std::ranges::fill(values, scale_);
    return {};
  }

 private:
  float scale_;
};

class Zeros : public dlhost::Initializer {
 public:
  static constexpr std::string_view name = "zeros";
  struct Options {};
  static dlhost::Schema schema() { return dlhost::SchemaOf<Options>("Every element 0."); }
  explicit Zeros(Options) {}
  dlhost::Status fill(std::span<float> values, const Target&, dlhost::Random&) const override {
    std::ranges::fill(values, 0.0F);
    return {};
  }
};

} // namespace

DLHOST_PLUGIN("1.0", Ones, Zeros);
