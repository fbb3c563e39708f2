// Stores: objects by URL scheme (file, s3, webhdfs, ...) and records by key (lmdb). Thread: several tasks at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/host.h>
#include <dlhost/kind.h>
#include <dlhost/status.h>

namespace dlhost {

// Records in the order of their keys, as in LMDB or a packed file.
class DLHOST_API Records {
 public:
  virtual ~Records();
  virtual std::int64_t count() const = 0;
  // The record's bytes. They are valid while the Records live; or, if the store copies, until the next call with this
  // `hold`.
  virtual Status read(std::int64_t index, std::vector<std::byte>& hold, std::span<const std::byte>& bytes) const = 0;
};

class DLHOST_API Store : public Plugin {
 public:
  static constexpr Kind kind = Kind::store;
  struct Capabilities {
    bool objects = false; // open, list, create, rename, remove
    bool records = false; // open_records
    bool atomic_rename = false;
  };
  virtual Capabilities capabilities() const = 0;
  // The scheme of its URLs: "s3".
  virtual std::string_view scheme() const = 0;

  virtual Result<std::unique_ptr<File>> open(Host&, const std::string& url);
  virtual Result<std::vector<DirectoryEntry>> list(Host&, const std::string& url);
  virtual Result<std::unique_ptr<NewFile>> create(Host&, const std::string& url);
  virtual Status rename(Host&, const std::string& from, const std::string& to);
  virtual Status remove(Host&, const std::string& url);
  virtual Result<std::unique_ptr<Records>> open_records(Host&, const std::string& url);
};

} // namespace dlhost
