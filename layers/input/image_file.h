// Pictures out of JPEG and PNG files. Pure: bytes in, pixels out, so that the sources and the fuzz target share it.
// A decoder keeps its memory from picture to picture and belongs to one task at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <dlhost/status.h>

namespace dlhost::input {

struct PictureTarget {
  std::int64_t channels = 3; // 1: grey
  std::int64_t height = 0, width = 0;
  // True: made as large as it must be to cover height and width, and the middle of it is taken. False: stretched.
  bool keep_ratio = true;
};

// A rectangle of a picture.
struct Window {
  std::int64_t top = 0, left = 0, height = 0, width = 0;
};

// What a target shows of a picture of this size: the middle of it, or all.
Window shown_window(const PictureTarget&, std::int64_t height, std::int64_t width);

// Interleaved, rows from the top. What lies outside of `shown` may be left out, or be anything.
struct Pixels {
  std::vector<std::uint8_t> data;
  std::int64_t height = 0, width = 0, channels = 0;
  Window shown{};
};

// As ITU-R BT.601 weighs colours, and JPEG with it.
inline std::uint8_t grey_of(unsigned red, unsigned green, unsigned blue) {
  return static_cast<std::uint8_t>((red * 77 + green * 150 + blue * 29 + 128) >> 8U);
}

// What a decoder for one format does: fills `into` with the picture, which may be made smaller by a whole factor while
// it still covers the target, and with what the target shows of it.
class PictureFormat {
 public:
  virtual ~PictureFormat() = default;
  virtual bool matches(std::span<const std::byte> file) const = 0;
  virtual Status decode(std::span<const std::byte> file, const PictureTarget&, Pixels& into) = 0;
};

// Those that this build knows; an unknown picture's message lists them.
std::unique_ptr<PictureFormat> jpeg_format();
std::unique_ptr<PictureFormat> png_format();

// Guards against files that claim to be enormous.
Status check_size(std::int64_t height, std::int64_t width);

class PictureDecoder {
 public:
  PictureDecoder();
  // Writes [channels, height, width].
  Status decode(std::span<const std::byte> file, const PictureTarget&, std::uint8_t* dst);

 private:
  std::vector<std::unique_ptr<PictureFormat>> formats_;
  Pixels pixels_;
  std::vector<std::byte> scratch_;
};

} // namespace dlhost::input
