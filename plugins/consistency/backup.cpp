// Synchronous with spare workers: does not wait for the slowest few.
#include <dlhost/plugin.h>

#include "first.h"

namespace dlhost::plugins {

class Backup final : public First {
 public:
  static constexpr std::string_view name = "backup";
  struct Options {
    std::int64_t spares = 1;
  };
  static Schema schema() {
    return SchemaOf<Options>("Synchronous with spare groups: a version is made when all but the spares have "
                             "contributed, scaled to stand for all. A get returns a version newer than the last; late "
                             "contributions are dropped and counted.")
        .option("spares", &Options::spares, "groups that are not waited for; at least one always is", at_least(1));
  }
  explicit Backup(Options options) : spares_(static_cast<std::size_t>(options.spares)) {}

 private:
  std::size_t wanted(const SliceState& slice) const override {
    return slice.contributors > spares_ ? slice.contributors - spares_ : 1;
  }
  std::size_t spares_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Backup);
