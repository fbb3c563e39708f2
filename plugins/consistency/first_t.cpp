// Bagging-Down: the first T contributions make the update.
#include <dlhost/plugin.h>

#include "first.h"

namespace dlhost::plugins {

class FirstT final : public First {
 public:
  static constexpr std::string_view name = "first_t";
  struct Options {
    std::int64_t t = 1;
  };
  static Schema schema() {
    return SchemaOf<Options>(
               "Bagging-Down: the contributions of the first T groups to a version make it, scaled to stand for all. A "
               "get returns a version newer than the last; late contributions are dropped and counted.")
        .option("t", &Options::t, "groups whose contributions make a version; at most as many as there are",
                at_least(1));
  }
  explicit FirstT(Options options) : t_(static_cast<std::size_t>(options.t)) {}

 private:
  std::size_t wanted(const SliceState&) const override { return t_; }
  std::size_t t_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::FirstT);
