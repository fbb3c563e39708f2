// Resizes a window of a picture by linear interpolation. For smaller sizes the filter is as wide as the merged pixels,
// to avoid aliasing. The weights are those of Pillow's BILINEAR, and of torchvision's with antialias = True. Allocates
// nothing: readers call it for each sample.
#pragma once

#include "pictures.h"

namespace dlhost::augment {

struct Window {
  std::int64_t top = 0, left = 0, height = 0, width = 0;
};

// The middle of a picture: the largest window with the ratio height : width, its sides then multiplied by `share`.
Window middle_window(const Picture& of, double height, double width, double share);

// Errors: a side shrinks by too large a factor.
Status check_resize(const Picture& src, const Picture& dst);
// Requires: `window` lies inside of `src`, and check_resize() has passed.
void resize(const Picture& src, const Window& window, const Picture& dst, const std::byte* from, std::byte* to);

} // namespace dlhost::augment
