// Reads any bytes as a picture, in several sizes.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "image_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static dlhost::input::PictureDecoder decoder;
  for (const dlhost::input::PictureTarget& target : {dlhost::input::PictureTarget{3, 8, 8, true}, {1, 5, 30, false}}) {
    std::vector<std::uint8_t> picture(static_cast<std::size_t>(target.channels * target.height * target.width));
    (void)decoder.decode(std::as_bytes(std::span(data, size)), target, picture.data());
  }
  return 0;
}
