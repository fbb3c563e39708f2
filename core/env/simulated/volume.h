// The files of a simulated machine, in memory, and their state after the machine stops. Paths are absolute; a relative
// one starts at the root.
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
  std::size_t synced = 0; // the first bytes, which survive a crash
};

class Volume {
 public:
  using Below = std::function<std::uint32_t(std::uint32_t)>; // a draw in [0, n)

  // The path without ".", ".." and doubled slashes.
  static std::string normal(const std::string& path);

  std::shared_ptr<Content> find(const std::string& path) const;
  bool is_folder(const std::string& path) const { return path == "/" || folders_.contains(path); }
  bool has(const std::string& path) const { return is_folder(path) || files_.contains(path); }
  std::vector<DirectoryEntry> list(const std::string& path) const;

  // Puts the whole file at once; replaces an old one.
  void put(const std::string& path, std::shared_ptr<Content>);
  // False: the path, or one of its parents, is a file.
  bool make_folder(const std::string& path);
  void move(const std::string& from, const std::string& to);
  void remove(const std::string& path);

  // The most bytes in all files, unfinished ones included.
  void limit(std::uint64_t bytes) { limit_ = bytes; }
  // Reserves bytes; false: the disk is full.
  bool take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes) { pending_ -= bytes; }

  // The machine stops: of the bytes that were not synced a random first part survives; it may end within an append.
  void crash(const Below&);

 private:
  std::uint64_t used() const;

  std::map<std::string, std::shared_ptr<Content>> files_;
  std::set<std::string> folders_;
  std::uint64_t limit_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t pending_ = 0; // of unfinished files
};

} // namespace dlhost::env::simulated
