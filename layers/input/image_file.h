// Decodes pictures from JPEG and PNG files. Pure: bytes in, pixels out, so that the sources and the fuzz target share
// it. A decoder keeps its memory from picture to picture. Thread: one task at a time.
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
  // True: scaled to cover height and width, then the middle is taken. False: stretched.
  bool keep_ratio = true;
};

// A rectangle of a picture.
struct Window {
  std::int64_t top = 0, left = 0, height = 0, width = 0;
};

// The part of a picture of this size that the target shows: the middle, or all.
Window shown_window(const PictureTarget&, std::int64_t height, std::int64_t width);

// Interleaved, rows from the top. Pixels outside of `shown` may be missing or arbitrary.
struct Pixels {
  std::vector<std::uint8_t> data;
  std::int64_t height = 0, width = 0, channels = 0;
  Window shown{};
};

// The weights of ITU-R BT.601, which JPEG uses.
inline std::uint8_t grey_of(unsigned red, unsigned green, unsigned blue) {
  return static_cast<std::uint8_t>((red * 77 + green * 150 + blue * 29 + 128) >> 8U);
}

// A decoder for one format: fills `into` with the picture and its shown part. The picture may be reduced by an integer
// factor as long as it covers the target.
class PictureFormat {
 public:
  virtual ~PictureFormat() = default;
  virtual bool matches(std::span<const std::byte> file) const = 0;
  virtual Status decode(std::span<const std::byte> file, const PictureTarget&, Pixels& into) = 0;
};

// The formats of this build; the error for an unknown picture lists them.
std::unique_ptr<PictureFormat> jpeg_format();
std::unique_ptr<PictureFormat> png_format();

// Errors: enormous sizes, which a hostile file may claim.
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
