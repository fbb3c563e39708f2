// Channels filled up with zeros to as many as tensor cores read at once: pictures have three. A convolution's sums are
// the same, and the kernels that it gets are those of deep layers.
#pragma once

#include "geometry.h"
#include "number.h"
#include "work.h"

namespace dlhost::plugins::cuda {

// 16 bytes of them.
std::int64_t channels_at_once(DType);

// `count` samples, or filters, from where they lie to channels_at_once, which lie last.
void pad_channels(WorkStream&, DType, std::int64_t count, const void* from, const Lie& lie, void* to);
// Back, to a tensor that may have another type.
void unpad_channels(WorkStream&, std::int64_t count, const Source& from, const Lie& lie, const Target& to);

} // namespace dlhost::plugins::cuda
