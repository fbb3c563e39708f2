// Reads any bytes as an idx file, and every row of an accepted one.
#include <cstddef>
#include <cstdint>
#include <span>

#include "array_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dlhost::fuzz::read_rows(dlhost::input::parse_idx(std::as_bytes(std::span(data, size))));
  return 0;
}
