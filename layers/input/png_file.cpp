#include <cstring>

#include <png.h>

#include "image_file.h"

namespace dlhost::input {

namespace {

class Reading {
 public:
  Reading() { image_.version = PNG_IMAGE_VERSION; }
  ~Reading() { png_image_free(&image_); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
  png_image* operator->() { return &image_; }
  png_image* get() { return &image_; }
  Status damaged() const { return Status::corrupt("damaged PNG data (", std::string_view(image_.message), ")"); }

 private:
  png_image image_{};
};

class Png : public PictureFormat {
 public:
  bool matches(std::span<const std::byte> file) const override {
    return file.size() >= 8 && std::memcmp(file.data(), "\x89PNG\r\n\x1a\n", 8) == 0;
  }

  Status decode(std::span<const std::byte> file, const PictureTarget& target, Pixels& into) override {
    Reading png;
    if (!png_image_begin_read_from_memory(png.get(), file.data(), file.size())) return png.damaged();
    DLHOST_TRY(check_size(png->height, png->width));
    const bool has_colours = (png->format & PNG_FORMAT_FLAG_COLOR) != 0;
    into.channels = has_colours ? 3 : target.channels;
    png->format = into.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    into.width = png->width;
    into.height = png->height;
    into.shown = shown_window(target, into.height, into.width);
    into.data.resize(PNG_IMAGE_SIZE(*png.get()));
    const png_color black{0, 0, 0}; // the background of transparent pixels
    if (!png_image_finish_read(png.get(), &black, into.data.data(), 0, nullptr)) return png.damaged();
    if (into.channels != target.channels) take_colours(into);
    return {};
  }

 private:
  // The library's own grey uses other weights than JPEG's.
  static void take_colours(Pixels& pixels) {
    const auto count = static_cast<std::size_t>(pixels.width * pixels.height);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint8_t* rgb = pixels.data.data() + 3 * i;
      pixels.data[i] = grey_of(rgb[0], rgb[1], rgb[2]);
    }
    pixels.channels = 1;
  }
};

} // namespace

std::unique_ptr<PictureFormat> png_format() { return std::make_unique<Png>(); }

} // namespace dlhost::input
