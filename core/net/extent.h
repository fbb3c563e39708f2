// Sizes come from numbers that people write. One that no machine could hold is refused where its shape first appears,
// so that no product that is made of it later overflows.
#pragma once

#include <dlhost/status.h>
#include <dlhost/tensor.h>

namespace dlhost::net {

// Not ok: an axis without elements, or too many in all. The message stands behind what the tensor is.
Status check_extent(const Shape&);

} // namespace dlhost::net
