#include <dlhost/plugin.h>

#include "warmed.h"

namespace dlhost::plugins {

struct FixedOptions : WarmedOptions {};

class Fixed final : public Warmed<FixedOptions> {
 public:
  static constexpr std::string_view name = "fixed";
  using Options = FixedOptions;
  static Schema schema() { return warmed(SchemaOf<Options>("The same rate all along.")); }
  explicit Fixed(Options options) : Warmed(options) {}

 protected:
  double rate_after(const When&) const override { return options_.base; }
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Fixed);
