// What the files of env/disk share: owned descriptors, whole writes and errors that name the remedy.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <dlhost/status.h>

namespace dlhost::env {

// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();

  int get() const { return number_; }
  bool valid() const { return number_ >= 0; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

// An errno about a path, in words; a full disk says how much is left and what to do.
Status failed(int error, std::string_view doing, const std::string& path);
// Not ok: the path has a byte of zero in it, at which the system would take it to end.
Status check_path(const std::string& path, std::string_view doing);
// Writes everything, however often the system takes only a part.
Status write_whole(int descriptor, std::span<const std::byte> bytes, const std::string& path);
// The folder that a path lies in: "." for a bare name.
std::string folder_of(const std::string& path);
Status sync_folder(const std::string& folder);

} // namespace dlhost::env
