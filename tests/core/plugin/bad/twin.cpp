// Built twice, with different names: two plugins whose classes have the same names, but must not share statics.
#include <dlhost/parts.h>
#include <dlhost/plugin.h>

namespace twins {

struct Count {
  static int& value() {
    static int count = 0;
    return count;
  }
};

class Twin : public dlhost::Initializer {
 public:
  static constexpr std::string_view name = TWIN_NAME;
  struct Options {};
  static dlhost::Schema schema() { return dlhost::SchemaOf<Options>("Counts how often it was asked."); }
  explicit Twin(Options) {}
  dlhost::Status fill(std::span<float> values, const Target&, dlhost::Random&) const override {
    values[0] = static_cast<float>(++Count::value());
    return {};
  }
};

} // namespace twins

DLHOST_PLUGIN("1.0", twins::Twin);
