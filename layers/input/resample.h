// Resizes a picture by linear interpolation. Below half the size the filter is as wide as the merged pixels, to avoid
// aliasing.
#pragma once

#include <cstdint>
#include <vector>

#include "image_file.h"

namespace dlhost::input {

// Writes the shown part of `src` as [channels, height, width]. The caller keeps `scratch` from picture to picture.
void resample(const Pixels& src, const PictureTarget&, std::uint8_t* dst, std::vector<std::byte>& scratch);

} // namespace dlhost::input
