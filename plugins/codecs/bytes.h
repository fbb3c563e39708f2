// Reads and writes numbers in an encoding, in this machine's byte order: all machines of a job have the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <dlhost/status.h>

namespace dlhost::plugins {

template <class T> void put(std::span<std::byte> out, std::size_t at, T value) {
  std::memcpy(out.data() + at, &value, sizeof value);
}

template <class T> T get(std::span<const std::byte> in, std::size_t at) {
  T value;
  std::memcpy(&value, in.data() + at, sizeof value);
  return value;
}

inline Status of_size(std::span<const std::byte> in, std::size_t wanted) {
  if (in.size() == wanted) return {};
  return Status::corrupt("an encoding of ", in.size(), " bytes, but ", wanted, " are needed");
}

} // namespace dlhost::plugins
