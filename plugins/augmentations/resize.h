// A window of a picture in another size, by linear interpolation; where it becomes smaller, by a filter as wide as the
// pixels that fall together, so that fine patterns do not turn into false ones. These are the weights of Pillow's
// BILINEAR, and of torchvision's with antialias = True. Takes no memory but the stack's: readers call it for each
// sample.
#pragma once

#include "pictures.h"

namespace dlhost::augment {

struct Window {
  std::int64_t top = 0, left = 0, height = 0, width = 0;
};

// The middle of a picture: the largest window of height : width that goes into it, its sides then times `share`.
Window middle_window(const Picture& of, double height, double width, double share);

// An error where a side would become too small a part of what it was.
Status check_resize(const Picture& src, const Picture& dst);
// `window` lies inside of `src`; check_resize() has passed.
void resize(const Picture& src, const Window& window, const Picture& dst, const std::byte* from, std::byte* to);

} // namespace dlhost::augment
