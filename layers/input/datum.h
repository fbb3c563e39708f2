// Caffe's Datum, the message for a sample in its databases. Read in place, without copies. Pure, for the lmdb source
// and its fuzz target.
//
//   field  1 channels  2 height  3 width  5 label: varint    7 encoded: varint, 0 or 1
//          4 data: bytes, [channels, height, width] or a packed picture    6 float_data: floats, packed or not
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <dlhost/status.h>

namespace dlhost::input {

struct Datum {
  std::int64_t channels = 0, height = 0, width = 0;
  std::int32_t label = 0;
  bool encoded = false;
  std::span<const std::byte> data;
  // float_data: floats at distances of `float_step` bytes, unpacked ones each after its tag.
  std::span<const std::byte> floats;
  std::size_t float_step = 0;
  std::int64_t float_count = 0;

  std::int64_t count() const { return channels * height * width; }
  float float_at(std::int64_t i) const;
};

// Checks that a Datum that is not encoded holds exactly channels * height * width bytes or floats.
Result<Datum> parse_datum(std::span<const std::byte> message);

} // namespace dlhost::input
