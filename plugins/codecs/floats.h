// Encodings of unchanged f32 values.
#pragma once

#include <span>

#include "bytes.h"

namespace dlhost::plugins {

inline std::size_t bytes_of_floats(std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(float); }

inline Status add_floats(std::span<const std::byte> in, float factor, std::span<float> values) {
  DLHOST_TRY(of_size(in, values.size_bytes()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += factor * get<float>(in, i * sizeof(float));
  return {};
}

inline Status add_encoded_floats(std::span<const std::byte> in, std::span<std::byte> into) {
  DLHOST_TRY(of_size(in, into.size()));
  for (std::size_t at = 0; at + sizeof(float) <= in.size(); at += sizeof(float))
    put(into, at, get<float>(into, at) + get<float>(in, at));
  return {};
}

} // namespace dlhost::plugins
