// The records of CIFAR's binary files: one or two label bytes, then 3x32x32 pixels. Pure, for the source and its fuzz
// target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <dlhost/status.h>

namespace dlhost::input {

inline constexpr std::size_t cifar_pixels = 3 * 32 * 32;
// The number of classes of each label byte; the last byte is the one to learn.
inline constexpr std::uint8_t cifar10_classes[] = {10};
inline constexpr std::uint8_t cifar100_classes[] = {20, 100}; // coarse and fine

class CifarFile {
 public:
  static Result<CifarFile> parse(std::span<const std::byte> bytes, std::span<const std::uint8_t> classes);

  std::int64_t records() const { return static_cast<std::int64_t>(bytes_.size() / record_bytes()); }
  std::int32_t label(std::int64_t record, std::size_t which) const {
    return static_cast<std::int32_t>(bytes_[static_cast<std::size_t>(record) * record_bytes() + which]);
  }
  std::span<const std::byte> pixels(std::int64_t record) const {
    return bytes_.subspan(static_cast<std::size_t>(record) * record_bytes() + labels_, cifar_pixels);
  }

 private:
  CifarFile(std::span<const std::byte> bytes, std::size_t labels) : bytes_(bytes), labels_(labels) {}
  std::size_t record_bytes() const { return labels_ + cifar_pixels; }

  std::span<const std::byte> bytes_;
  std::size_t labels_;
};

} // namespace dlhost::input
