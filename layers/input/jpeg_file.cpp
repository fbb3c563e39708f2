#include <algorithm>
#include <optional>
#include <string_view>

#include <turbojpeg.h>

#include "image_file.h"

namespace dlhost::input {

namespace {

struct FrameHeader {
  int height, width, components;
};

// Out of the first frame header. libjpeg-turbo's own way to it reads all tables as well, and reads them again to
// decode: a twentieth of the time of a small picture.
std::optional<FrameHeader> frame_header(std::span<const std::byte> file) {
  const auto byte = [&](std::size_t at) { return std::to_integer<int>(file[at]); };
  std::size_t at = 2;
  while (at + 4 <= file.size()) {
    const int marker = byte(at + 1);
    if (byte(at) != 0xff) return {};
    if (marker == 0xff) { // a byte of padding
      ++at;
      continue;
    }
    const bool tables_or_reserved = marker == 0xc4 || marker == 0xc8 || marker == 0xcc;
    if (marker >= 0xc0 && marker <= 0xcf && !tables_or_reserved) {
      if (at + 10 > file.size()) return {};
      return FrameHeader{byte(at + 5) << 8 | byte(at + 6), byte(at + 7) << 8 | byte(at + 8), byte(at + 9)};
    }
    const bool alone = marker == 0x01 || (marker >= 0xd0 && marker <= 0xd7);
    if (marker == 0xd9 || marker == 0xda) return {}; // the picture's end, or its data
    at += 2 + (alone ? 0 : static_cast<std::size_t>(byte(at + 2) << 8 | byte(at + 3)));
  }
  return {};
}

class Jpeg : public PictureFormat {
 public:
  Jpeg() : turbo_(tjInitDecompress()) {}
  ~Jpeg() override {
    if (turbo_) tjDestroy(turbo_);
  }

  bool matches(std::span<const std::byte> file) const override {
    return file.size() >= 3 && file[0] == std::byte{0xff} && file[1] == std::byte{0xd8} && file[2] == std::byte{0xff};
  }

  Status decode(std::span<const std::byte> file, const PictureTarget& target, Pixels& into) override {
    if (!turbo_) return Status::no_space("libjpeg-turbo has no memory for a decoder");
    const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
    const auto header = frame_header(file);
    if (!header) return Status::corrupt("damaged JPEG data (its header ends, or is broken, before it says the size)");
    int width = header->width, height = header->height;
    DLHOST_TRY(check_size(height, width));
    shrink(target, width, height);
    const bool print = header->components == 4; // libjpeg-turbo makes no RGB of CMYK
    const int format = print ? TJPF_CMYK : target.channels == 1 ? TJPF_GRAY : TJPF_RGB;
    into.width = width;
    into.height = height;
    into.channels = print ? 4 : target.channels;
    into.data.resize(static_cast<std::size_t>(into.width * into.height * into.channels));
    if (tjDecompress2(turbo_, bytes, file.size(), into.data.data(), width, 0, height, format, TJFLAG_LIMITSCANS) != 0) {
      // Small defects are common in data sets and leave a whole picture; a picture cut off does not.
      const std::string_view why = tjGetErrorStr2(turbo_);
      if (tjGetErrorCode(turbo_) != TJERR_WARNING || why.find("remature end") != std::string_view::npos)
        return damaged();
    }
    if (print) from_print(into, target.channels);
    return {};
  }

 private:
  Status damaged() const { return Status::corrupt("damaged JPEG data (", tjGetErrorStr2(turbo_), ")"); }

  // Halves the size while decoding, which saves most of the work, as long as the target stays covered. The factors
  // between powers of two are slower in libjpeg-turbo than decoding in full.
  static void shrink(const PictureTarget& target, int& width, int& height) {
    for (int denominator = 8; denominator > 1; denominator /= 2) {
      const int w = (width + denominator - 1) / denominator, h = (height + denominator - 1) / denominator;
      if (w < target.width || h < target.height) continue;
      width = w;
      height = h;
      return;
    }
  }

  // CMYK as Adobe writes it, inverted, into what was asked for.
  static void from_print(Pixels& pixels, std::int64_t channels) {
    const auto count = static_cast<std::size_t>(pixels.width * pixels.height);
    std::uint8_t* const data = pixels.data.data();
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint8_t* cmyk = data + 4 * i;
      const unsigned rgb[3] = {cmyk[0] * cmyk[3] / 255U, cmyk[1] * cmyk[3] / 255U, cmyk[2] * cmyk[3] / 255U};
      if (channels == 1)
        data[i] = static_cast<std::uint8_t>((rgb[0] * 77 + rgb[1] * 150 + rgb[2] * 29) >> 8U);
      else
        std::ranges::transform(rgb, data + 3 * i, [](unsigned c) { return static_cast<std::uint8_t>(c); });
    }
    pixels.channels = channels;
  }

  tjhandle turbo_;
};

} // namespace

std::unique_ptr<PictureFormat> jpeg_format() { return std::make_unique<Jpeg>(); }

} // namespace dlhost::input
