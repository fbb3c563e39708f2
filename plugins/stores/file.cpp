// Objects on this machine's disk: file:///data/train.idx, or a plain path. Uses the host's disk.
#include <dlhost/plugin.h>
#include <dlhost/store.h>

namespace dlhost::stores {
namespace {

std::string path_of(const std::string& url) {
  constexpr std::string_view scheme = "file://";
  return url.starts_with(scheme) ? url.substr(scheme.size()) : url;
}

class FileStore : public Store {
 public:
  static constexpr std::string_view name = "file";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("Objects on the local disk, by path or file:// URL."); }
  explicit FileStore(Options) {}

  Capabilities capabilities() const override { return {.objects = true, .records = false, .atomic_rename = true}; }
  std::string_view scheme() const override { return "file"; }

  Result<std::unique_ptr<File>> open(Host& host, const std::string& url) override {
    return host.disk().open(path_of(url));
  }
  Result<std::vector<DirectoryEntry>> list(Host& host, const std::string& url) override {
    return host.disk().list(path_of(url));
  }
  Result<std::unique_ptr<NewFile>> create(Host& host, const std::string& url) override {
    return host.disk().create(path_of(url));
  }
  Status rename(Host& host, const std::string& from, const std::string& to) override {
    return host.disk().rename(path_of(from), path_of(to));
  }
  Status remove(Host& host, const std::string& url) override { return host.disk().remove(path_of(url)); }
};

} // namespace
} // namespace dlhost::stores

DLHOST_PLUGIN("1.0", dlhost::stores::FileStore);
