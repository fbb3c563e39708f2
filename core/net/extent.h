// Checks sizes where a shape first appears: sizes that users write may exceed every machine, and later products of them
// must not overflow.
#pragma once

#include <dlhost/status.h>
#include <dlhost/tensor.h>

namespace dlhost::net {

// Errors: an axis without elements, or too many elements. The message continues after the tensor's name.
Status check_extent(const Shape&);

} // namespace dlhost::net
