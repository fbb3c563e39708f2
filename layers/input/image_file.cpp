#include "image_file.h"

#include <algorithm>
#include <cmath>

#include "resample.h"

namespace dlhost::input {

Status check_size(std::int64_t height, std::int64_t width) {
  constexpr std::int64_t most = 1 << 26, longest = 65535;
  if (height > 0 && width > 0 && height <= longest && width <= longest && height * width <= most) return {};
  return Status::corrupt("its header says ", width, "x", height, " pixels; a picture may have at most ", most,
                         ", and no side longer than ", longest);
}

Window shown_window(const PictureTarget& target, std::int64_t height, std::int64_t width) {
  if (!target.keep_ratio) return {0, 0, height, width};
  const auto high = static_cast<double>(height), wide = static_cast<double>(width);
  const double factor = std::min(high / static_cast<double>(target.height), wide / static_cast<double>(target.width));
  const auto shown = [&](std::int64_t side, std::int64_t whole) {
    return std::clamp<std::int64_t>(std::llround(factor * static_cast<double>(side)), 1, whole);
  };
  const std::int64_t rows = shown(target.height, height), columns = shown(target.width, width);
  return {(height - rows) / 2, (width - columns) / 2, rows, columns};
}

PictureDecoder::PictureDecoder() {
#ifdef DLHOST_JPEG
  formats_.push_back(jpeg_format());
#endif
#ifdef DLHOST_PNG
  formats_.push_back(png_format());
#endif
}

Status PictureDecoder::decode(std::span<const std::byte> file, const PictureTarget& target, std::uint8_t* dst) {
  for (const auto& format : formats_) {
    if (!format->matches(file)) continue;
    DLHOST_TRY(format->decode(file, target, pixels_));
    resample(pixels_, target, dst, scratch_);
    return {};
  }
  return Status::corrupt("is not a picture that this build reads ("
#ifdef DLHOST_JPEG
                         "JPEG "
#endif
#ifdef DLHOST_PNG
                         "PNG "
#endif
                         "by their first bytes); convert it, or take it out of the folder");
}

} // namespace dlhost::input
