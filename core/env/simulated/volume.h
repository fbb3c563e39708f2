// The files of a simulated machine, in memory, and what becomes of them when the machine stops. Paths are absolute; a
// relative one begins at the root.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <dlhost/host.h>

namespace dlhost::env::simulated {

struct Content {
  std::vector<std::byte> bytes;
  std::size_t synced = 0; // of them
};

class Volume {
 public:
  using Below = std::function<std::uint32_t(std::uint32_t)>; // a draw in [0, n)

  // As the path of a file or folder, whatever dots it was written with.
  static std::string normal(const std::string& path);

  std::shared_ptr<Content> find(const std::string& path) const;
  bool is_folder(const std::string& path) const { return path == "/" || folders_.contains(path); }
  bool has(const std::string& path) const { return is_folder(path) || files_.contains(path); }
  std::vector<DirectoryEntry> list(const std::string& path) const;

  // Whole, at once; replaces.
  void put(const std::string& path, std::shared_ptr<Content>);
  // False: a file has that name, or that of a parent.
  bool make_folder(const std::string& path);
  void move(const std::string& from, const std::string& to);
  void remove(const std::string& path);

  // Bytes that may lie in files, those that are being written included.
  void limit(std::uint64_t bytes) { limit_ = bytes; }
  // False: there is no room for so many more.
  bool take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes) { pending_ -= bytes; }

  // The machine has stopped: of what was not synced some beginning is there, which may end within an append.
  void crash(const Below&);

 private:
  std::uint64_t used() const;

  std::map<std::string, std::shared_ptr<Content>> files_;
  std::set<std::string> folders_;
  std::uint64_t limit_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t pending_ = 0; // of files that are being written
};

} // namespace dlhost::env::simulated
