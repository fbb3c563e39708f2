#include <dlhost/plugin.h>

#include "cutting.h"

namespace dlhost::plugins {

class Slice final : public Cutting {
 public:
  static constexpr std::string_view name = "slice";
  struct Options : PiecesOptions {
    std::int64_t first = 0;
    std::int64_t count = 1;
  };
  static Schema schema() {
    return along_axis(SchemaOf<Options>("One piece of its source."), "along which it is cut")
        .option("first", &Options::first, "the piece's first element along the axis", at_least(0))
        .option("count", &Options::count, "how many elements it has along the axis", at_least(1));
  }
  explicit Slice(Options options) : Cutting(options.axis), options_(options) {}

 protected:
  Result<Places> cut(std::int64_t length) const override {
    if (options_.count > length - options_.first)
      return Status::invalid(options_.count, " elements from ", options_.first, " on are asked for, but axis ",
                             options_.axis, " of the source has only ", length);
    return Places{options_.first, {options_.count}};
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Slice);
