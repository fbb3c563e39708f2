#include "net/extent.h"

namespace dlhost::net {

Status check_extent(const Shape& shape) {
  constexpr std::int64_t most = std::int64_t{1} << 48;
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) {
    if (dim < 1) return Status::invalid("would be ", to_string(shape), ", but every axis needs an element");
    if (dim > most / count)
      return Status::invalid("would be ", to_string(shape), ", more elements than any machine holds");
    count *= dim;
  }
  return {};
}

} // namespace dlhost::net
