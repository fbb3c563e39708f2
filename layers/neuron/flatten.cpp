#include <dlhost/plugin.h>

#include "view.h"

namespace dlhost::plugins {

class Flatten final : public View {
 public:
  static constexpr std::string_view name = "flatten";
  struct Options {
    std::int64_t axis = 1;
  };
  static Schema schema() {
    return SchemaOf<Options>("Makes one axis of several. (A dense layer takes samples of any shape without it.)")
        .option("axis", &Options::axis, "this axis and all after it become one",
                between(1, static_cast<double>(max_rank - 1)));
  }
  explicit Flatten(Options options) : options_(options) {}

 protected:
  Result<Shape> shape(const Shape& x) const override {
    const auto axis = static_cast<std::size_t>(options_.axis);
    if (axis >= x.rank())
      return Status::invalid("axis is ", options_.axis, ", but the source (", to_string(x), ") has axes 0 to ",
                             x.rank() - 1);
    Shape y(std::span<const std::int64_t>(x.begin(), axis));
    y.push_back(x.past(axis));
    return y;
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Flatten);
