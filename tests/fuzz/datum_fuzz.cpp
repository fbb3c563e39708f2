// Reads any bytes as Caffe's Datum.
#include <cstddef>
#include <cstdint>
#include <span>

#include "datum.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto datum = dlhost::input::parse_datum(std::as_bytes(std::span(data, size)));
  float sum = 0;
  for (std::int64_t i = 0; datum.ok() && i < datum->float_count; ++i) sum += datum->float_at(i);
  return sum == 12345.678F ? 1 : 0; // keeps the reads from being optimised away
}
