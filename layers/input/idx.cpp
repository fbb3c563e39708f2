// Arrays in the idx format of MNIST.
#include <dlhost/plugin.h>

#include "array_source.h"

namespace dlhost::input {
namespace {

class Idx : public ArraySource {
 public:
  static constexpr std::string_view name = "idx";
  static Schema schema() { return array_schema("idx files, as of MNIST, packed by gzip or not."); }
  explicit Idx(Options options) : ArraySource(std::move(options), &parse_idx) {}
};

} // namespace
} // namespace dlhost::input

DLHOST_PLUGIN("1.0", dlhost::input::Idx);
