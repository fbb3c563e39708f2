// Shared by the augmentations of pictures: a sample is [channels, height, width], plain, u8 or f32.
#pragma once

#include <cstdint>
#include <vector>

#include <dlhost/parts.h>

namespace dlhost::augment {

struct Picture {
  std::int64_t channels = 0, height = 0, width = 0;
  std::size_t element = 1; // bytes

  std::size_t row_bytes() const { return static_cast<std::size_t>(width) * element; }
  std::size_t plane_bytes() const { return row_bytes() * static_cast<std::size_t>(height); }
  std::size_t plane() const { return static_cast<std::size_t>(height * width); }
  std::size_t count() const { return static_cast<std::size_t>(channels) * plane(); }
};

inline Result<Picture> picture_of(const TensorDesc& sample) {
  if (sample.shape.rank() != 3)
    return Status::invalid("the sample has the shape ", to_string(sample.shape),
                           ", but a picture [channels, height, width] is wanted");
  if (sample.dtype != DType::u8 && sample.dtype != DType::f32)
    return Status::invalid("the sample is ", name_of(sample.dtype), ", but a picture is u8 or f32");
  return Picture{sample.shape[0], sample.shape[1], sample.shape[2], size_of(sample.dtype)};
}

// Parses an option like size = 32 or size = [32, 48]: height and width.
inline Result<std::pair<std::int64_t, std::int64_t>> height_and_width(const std::vector<std::int64_t>& size) {
  if (size.size() == 1) return std::pair{size[0], size[0]};
  if (size.size() == 2) return std::pair{size[0], size[1]};
  return Status::invalid("size has ", size.size(), " numbers, but is [side] or [height, width]");
}

} // namespace dlhost::augment
