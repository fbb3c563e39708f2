// Arrays in NumPy's npy format.
#include <dlhost/plugin.h>

#include "array_source.h"

namespace dlhost::input {
namespace {

class Npy : public ArraySource {
 public:
  static constexpr std::string_view name = "npy";
  static Schema schema() { return array_schema("NumPy arrays saved by numpy.save, packed by gzip or not."); }
  explicit Npy(Options options) : ArraySource(std::move(options), &npy_samples) {}
};

} // namespace
} // namespace dlhost::input

DLHOST_PLUGIN("1.0", dlhost::input::Npy);
