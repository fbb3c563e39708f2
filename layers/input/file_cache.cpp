#include "file_cache.h"

namespace dlhost::input {

namespace {

constexpr std::uint64_t largest_file = std::uint64_t{1} << 28;

} // namespace

FileCache::~FileCache() {
  for (auto& place : kept_) delete place.load();
}

Result<std::span<const std::byte>> FileCache::read_new(Disk& disk, std::int64_t file, const std::string& path,
                                                       std::vector<std::byte>& hold) {
  DLHOST_ASSIGN(const auto opened, disk.open(path));
  const std::uint64_t size = opened->size();
  if (size > largest_file)
    return Status::invalid(path, ": ", size, " bytes, but at most ", largest_file, " are read as one sample");
  hold.resize(size);
  DLHOST_TRY(opened->read_at(0, hold));
  if (used_.fetch_add(size, std::memory_order_relaxed) + size > limit_) {
    used_.fetch_sub(size, std::memory_order_relaxed);
    return std::span<const std::byte>(hold);
  }
  auto kept = std::make_unique<const Kept>(Kept{hold});
  const Kept* none = nullptr;
  auto& place = kept_[static_cast<std::size_t>(file)];
  if (place.compare_exchange_strong(none, kept.get(), std::memory_order_acq_rel))
    (void)kept.release();
  else
    used_.fetch_sub(size, std::memory_order_relaxed); // another task was first
  return std::span<const std::byte>(hold);
}

} // namespace dlhost::input
