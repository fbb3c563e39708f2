#include <dlhost/store.h>

namespace dlhost {

Records::~Records() = default;

namespace {

Status lacks(const Store& store, std::string_view what, const std::string& url) {
  return Status::unsupported(url, ": the store \"", store.scheme(), "\" cannot ", what);
}

} // namespace

Result<std::unique_ptr<File>> Store::open(Host&, const std::string& url) { return lacks(*this, "open objects", url); }

Result<std::vector<DirectoryEntry>> Store::list(Host&, const std::string& url) {
  return lacks(*this, "list objects", url);
}

Result<std::unique_ptr<NewFile>> Store::create(Host&, const std::string& url) {
  return lacks(*this, "write objects", url);
}

Status Store::rename(Host&, const std::string& from, const std::string&) {
  return lacks(*this, "rename objects", from);
}

Status Store::remove(Host&, const std::string& url) { return lacks(*this, "remove objects", url); }

Result<std::unique_ptr<Records>> Store::open_records(Host&, const std::string& url) {
  return lacks(*this, "open records", url);
}

} // namespace dlhost
