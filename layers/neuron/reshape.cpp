#include <algorithm>

#include <dlhost/plugin.h>

#include "view.h"

namespace dlhost::plugins {

class Reshape final : public View {
 public:
  static constexpr std::string_view name = "reshape";
  struct Options {
    std::vector<std::int64_t> shape;
  };
  static Schema schema() {
    return SchemaOf<Options>("The same elements of each sample in another shape.")
        .required("shape", &Options::shape, at_least(-1),
                  "a sample's axes, without the batch; one of them may be -1: as many as there are left");
  }
  explicit Reshape(Options options) : options_(std::move(options)) {}

 protected:
  Result<Shape> shape(const Shape& x) const override {
    const auto& wanted = options_.shape;
    if (wanted.size() + 1 > max_rank)
      return Status::invalid("shape has ", wanted.size(), " axes, but at most ", max_rank - 1, " are possible");
    if (std::ranges::count(wanted, -1) > 1) return Status::invalid("only one axis of shape may be -1");
    if (std::ranges::count(wanted, 0) > 0)
      return Status::invalid("an axis of shape is 0, but must be at least 1, or -1");
    const std::int64_t elements = x.past(1);
    std::int64_t left = elements; // for the unknown axis
    bool fits = true;
    for (const std::int64_t dim : wanted)
      if (dim > 0) fits = fits && left % dim == 0, left /= dim;
    Shape y{x[0]};
    for (const std::int64_t dim : wanted) y.push_back(dim > 0 ? dim : left);
    if (!fits || (std::ranges::count(wanted, -1) == 0 && left != 1))
      return Status::invalid("a sample of the source (", to_string(x), ") has ", elements,
                             " elements, which shape cannot hold");
    return y;
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Reshape);
