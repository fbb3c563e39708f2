#include <numeric>

#include <dlhost/plugin.h>

#include "cutting.h"

namespace dlhost::plugins {

class SplitLayer final : public Cutting {
 public:
  static constexpr std::string_view name = "split";
  struct Options : PiecesOptions {
    std::vector<std::int64_t> sizes;
    std::int64_t parts = 2;
  };
  static Schema schema() {
    return along_axis(SchemaOf<Options>("Cuts its source into several outputs, y0, y1, ..."), "along which it is cut")
        .option("parts", &Options::parts, "number of equal parts", at_least(1))
        .option("sizes", &Options::sizes, "or the elements of each part along the axis", at_least(1));
  }
  explicit SplitLayer(Options options) : Cutting(options.axis), options_(std::move(options)) {}

 protected:
  Result<Places> cut(std::int64_t length) const override {
    if (options_.sizes.empty()) {
      if (length % options_.parts != 0)
        return Status::invalid("axis ", options_.axis, " of the source has ", length, " elements, which ",
                               options_.parts, " equal parts do not make: give sizes");
      return Places{0, std::vector<std::int64_t>(static_cast<std::size_t>(options_.parts), length / options_.parts)};
    }
    const std::int64_t sum = std::accumulate(options_.sizes.begin(), options_.sizes.end(), std::int64_t{0});
    if (sum != length)
      return Status::invalid("sizes sum to ", sum, ", but axis ", options_.axis, " of the source has ", length,
                             " elements");
    return Places{0, options_.sizes};
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::SplitLayer);
