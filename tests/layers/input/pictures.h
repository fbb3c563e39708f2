// Pictures packed for tests.
#pragma once

#include <cstdint>
#include <string>

#include <png.h>
#include <turbojpeg.h>

#include "image_file.h"

namespace dlhost::test {

// Red grows from left to right, green from top to bottom; blue is constant.
inline input::Pixels gradient(std::int64_t height, std::int64_t width, std::int64_t channels = 3) {
  input::Pixels pixels{{}, height, width, channels};
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x) {
      pixels.data.push_back(static_cast<std::uint8_t>(x * 255 / width));
      if (channels == 1) continue;
      pixels.data.push_back(static_cast<std::uint8_t>(y * 255 / height));
      pixels.data.push_back(100);
    }
  return pixels;
}

// `shared_colours`: four pixels share a colour, as in most cameras' files.
inline std::string jpeg(const input::Pixels& pixels, bool shared_colours = false) {
  tjhandle turbo = tjInitCompress();
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const bool grey = pixels.channels == 1;
  tjCompress2(turbo, pixels.data.data(), static_cast<int>(pixels.width), 0, static_cast<int>(pixels.height),
              grey ? TJPF_GRAY : TJPF_RGB, &bytes, &size,
              grey             ? TJSAMP_GRAY
              : shared_colours ? TJSAMP_420
                               : TJSAMP_444,
              95, 0);
  std::string file(reinterpret_cast<const char*>(bytes), size);
  tjFree(bytes);
  tjDestroy(turbo);
  return file;
}

inline std::string png(const input::Pixels& pixels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(pixels.width);
  image.height = static_cast<png_uint_32>(pixels.height);
  image.format = pixels.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  png_image_write_to_memory(&image, nullptr, &size, 0, pixels.data.data(), 0, nullptr);
  std::string file(size, '\0');
  png_image_write_to_memory(&image, file.data(), &size, 0, pixels.data.data(), 0, nullptr);
  return file;
}

} // namespace dlhost::test
