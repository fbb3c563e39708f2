#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <string_view>

#include <jpeglib.h>

#include <jerror.h>

#include "image_file.h"

namespace dlhost::input {

namespace {

// libjpeg-turbo is C: errors leave its calls by longjmp, so no object with a destructor may live across them.
struct Failure {
  jpeg_error_mgr manager;
  std::jmp_buf leave;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void fail(j_common_ptr jpeg) {
  auto& failure = *reinterpret_cast<Failure*>(jpeg->err);
  jpeg->err->format_message(jpeg, failure.message);
  std::longjmp(failure.leave, 1);
}

// Small defects are common in data sets and leave the picture whole; a cut-off picture is an error.
void warn(j_common_ptr jpeg, int level) {
  const int code = jpeg->err->msg_code;
  if (level < 0 && (code == JWRN_HIT_MARKER || code == JWRN_JPEG_EOF)) fail(jpeg);
}

// A small file can hold endless scans, each as costly as a whole picture.
void limit_scans(j_common_ptr jpeg) {
  constexpr int most = 500;
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= most) return;
  jpeg->err->msg_code = JERR_BAD_PROGRESSION;
  fail(jpeg);
}

class Jpeg : public PictureFormat {
 public:
  Jpeg() {
    jpeg_.err = jpeg_std_error(&failure_.manager);
    failure_.manager.error_exit = fail;
    failure_.manager.emit_message = warn;
    progress_.progress_monitor = limit_scans;
    if (setjmp(failure_.leave) != 0) return;
    jpeg_create_decompress(&jpeg_);
    jpeg_.progress = &progress_;
    made_ = true;
  }
  ~Jpeg() override { jpeg_destroy_decompress(&jpeg_); }

  bool matches(std::span<const std::byte> file) const override {
    return file.size() >= 3 && file[0] == std::byte{0xff} && file[1] == std::byte{0xd8} && file[2] == std::byte{0xff};
  }

  Status decode(std::span<const std::byte> file, const PictureTarget& target, Pixels& into) override {
    if (!made_) return Status::no_space("libjpeg-turbo has no memory for a decoder");
    Status status = read_header(file) ? check_size(jpeg_.image_height, jpeg_.image_width) : damaged();
    if (status.ok()) {
      lay_out(target, into);
      if (!read_lines(into)) status = damaged();
    }
    jpeg_abort_decompress(&jpeg_);
    if (status.ok() && into.channels == 4) from_print(into, target.channels);
    return status;
  }

 private:
  Status damaged() const { return Status::corrupt("damaged JPEG data (", std::string_view(failure_.message), ")"); }

  bool read_header(std::span<const std::byte> file) {
    if (setjmp(failure_.leave) != 0) return false;
    jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(file.data()), file.size());
    jpeg_read_header(&jpeg_, TRUE);
    return true;
  }

  // Sets what is decoded, and where: only the part that the target shows.
  void lay_out(const PictureTarget& target, Pixels& into) {
    jpeg_.scale_num = 1;
    jpeg_.scale_denom = shrinking(target);
    const auto scaled = [&](JDIMENSION size) { return (size + jpeg_.scale_denom - 1) / jpeg_.scale_denom; };
    // libjpeg gives no RGB for these.
    const bool print = jpeg_.jpeg_color_space == JCS_CMYK || jpeg_.jpeg_color_space == JCS_YCCK;
    jpeg_.out_color_space = print ? JCS_CMYK : target.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    into.channels = print ? 4 : target.channels;
    into.shown = shown_window(target, scaled(jpeg_.image_height), scaled(jpeg_.image_width));
    into.width = scaled(jpeg_.image_width);
    into.data.resize(static_cast<std::size_t>(into.shown.height * into.width * into.channels));
  }

  bool read_lines(Pixels& into) {
    if (setjmp(failure_.leave) != 0) return false;
    jpeg_start_decompress(&jpeg_);
    skip_columns(into);
    if (into.shown.top > 0) jpeg_skip_scanlines(&jpeg_, static_cast<JDIMENSION>(into.shown.top));
    const auto line_bytes = static_cast<std::size_t>(into.width * into.channels);
    for (std::int64_t line = 0; line < into.shown.height;) {
      JSAMPROW lines[16];
      const std::int64_t count = std::min<std::int64_t>(std::ssize(lines), into.shown.height - line);
      for (std::int64_t i = 0; i < count; ++i)
        lines[i] = into.data.data() + static_cast<std::size_t>(line + i) * line_bytes;
      line += jpeg_read_scanlines(&jpeg_, lines, static_cast<JDIMENSION>(count));
    }
    into.height = into.shown.height;
    into.shown.top = 0;
    return true;
  }

  // Skips columns that are not shown, after decoding their coefficients. A few next to the shown ones stay, because
  // colours are interpolated from neighbours.
  void skip_columns(Pixels& into) {
    constexpr std::int64_t beside = 2;
    const std::int64_t from = std::max<std::int64_t>(0, into.shown.left - beside);
    const std::int64_t to = std::min(into.width, into.shown.left + into.shown.width + beside);
    if (from == 0 && to == into.width) return;
    auto left = static_cast<JDIMENSION>(from), width = static_cast<JDIMENSION>(to - from);
    jpeg_crop_scanline(&jpeg_, &left, &width);
    into.shown.left -= left;
    into.width = width;
  }

  // The scale of decoding: halving the size saves most of the work, as long as the target stays covered. Factors
  // between powers of two are slower in libjpeg-turbo than full decoding.
  unsigned shrinking(const PictureTarget& target) const {
    for (unsigned denominator = 8; denominator > 1; denominator /= 2) {
      const auto w = (jpeg_.image_width + denominator - 1) / denominator;
      const auto h = (jpeg_.image_height + denominator - 1) / denominator;
      if (w >= target.width && h >= target.height) return denominator;
    }
    return 1;
  }

  // Converts CMYK, inverted as Adobe writes it, to the wanted channels.
  static void from_print(Pixels& pixels, std::int64_t channels) {
    const auto count = static_cast<std::size_t>(pixels.width * pixels.height);
    std::uint8_t* const data = pixels.data.data();
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint8_t* cmyk = data + 4 * i;
      const unsigned rgb[3] = {cmyk[0] * cmyk[3] / 255U, cmyk[1] * cmyk[3] / 255U, cmyk[2] * cmyk[3] / 255U};
      if (channels == 1)
        data[i] = grey_of(rgb[0], rgb[1], rgb[2]);
      else
        std::ranges::transform(rgb, data + 3 * i, [](unsigned c) { return static_cast<std::uint8_t>(c); });
    }
    pixels.channels = channels;
  }

  jpeg_decompress_struct jpeg_{};
  Failure failure_{};
  jpeg_progress_mgr progress_{};
  bool made_ = false;
};

} // namespace

std::unique_ptr<PictureFormat> jpeg_format() { return std::make_unique<Jpeg>(); }

} // namespace dlhost::input
