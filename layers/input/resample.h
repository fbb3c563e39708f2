// Another size for a picture, by linear interpolation; where it becomes less than half as large, by a filter as wide as
// the pixels that fall together, so that fine patterns do not turn into false ones.
#pragma once

#include <cstdint>
#include <vector>

#include "image_file.h"

namespace dlhost::input {

// Writes what is shown of `src` as [channels, height, width]; `scratch` is kept by the caller from picture to picture.
void resample(const Pixels& src, const PictureTarget&, std::uint8_t* dst, std::vector<std::byte>& scratch);

} // namespace dlhost::input
