#include "content.h"

#include "gunzip.h"

namespace dlhost::input {

namespace {

// Far above any data set that fits into memory, and far below what a hostile file could unpack to.
constexpr std::uint64_t most_bytes = std::uint64_t{64} << 30;

} // namespace

Result<Content> Content::open(Disk& disk, const std::string& path) {
  Content content;
  DLHOST_ASSIGN(content.file_, disk.open(path));
  content.bytes_ = content.file_->map();
  if (content.bytes_.empty()) {
    content.held_.resize(content.file_->size());
    DLHOST_TRY(content.file_->read_at(0, content.held_));
    content.bytes_ = content.held_;
  }
  if (is_gzip(content.bytes_)) {
    auto unpacked = gunzip(content.bytes_, most_bytes);
    if (!unpacked.ok()) return std::move(unpacked).status().at(path);
    content.held_ = *std::move(unpacked);
    content.bytes_ = content.held_;
    content.file_.reset();
  }
  return content;
}

std::string beside(const std::string& folder, const std::string& path) {
  if (folder.empty() || path.starts_with('/')) return path;
  return folder + "/" + path;
}

} // namespace dlhost::input
