#include "memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <new>

namespace dlhost::plugins::ref {

namespace {

constexpr std::size_t range = std::size_t{1} << 38; // of addresses; memory is committed on first touch
constexpr std::size_t page = 4096;

std::byte* reserve(int protection) {
  void* made = ::mmap(nullptr, range, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return made == MAP_FAILED ? nullptr : static_cast<std::byte*>(made);
}

} // namespace

Result<std::unique_ptr<Pool>> Pool::make(bool far, std::size_t most) {
  std::unique_ptr<Pool> pool(new Pool);
  if (!far) return pool;
  pool->most_ = most;
  pool->shown_ = reserve(PROT_NONE);
  pool->bytes_ = reserve(PROT_READ | PROT_WRITE);
  if (!pool->shown_ || !pool->bytes_)
    return Status::system(errno, "ref: cannot reserve addresses for far memory (is there a limit, `ulimit -v`?)");
  return pool;
}

Pool::~Pool() {
  if (shown_) ::munmap(shown_, range);
  if (bytes_) ::munmap(bytes_, range);
}

Result<void*> Pool::allocate(std::size_t bytes) {
  const std::size_t size = (bytes + page - 1) / page * page + (far() ? page : 0); // a guard page between two tensors
  if (!far()) {
    void* made = ::operator new (size ? size : page, std::align_val_t{64}, std::nothrow);
    if (!made) return Status::no_space("ref: no memory for ", bytes, " bytes");
    std::memset(made, 0xff, bytes);
    return made;
  }
  const std::lock_guard lock(mutex_);
  std::size_t offset = 0;
  for (const auto& [at, length] : taken_) {
    if (at - offset >= size) break;
    offset = at + length;
  }
  if (range - offset < size || (most_ > 0 && most_ - in_use_ < size))
    return Status::no_space("ref: no room for ", bytes, " bytes in far memory");
  taken_.emplace(offset, size);
  in_use_ += size;
  std::memset(bytes_ + offset, 0xff, bytes);
  return static_cast<void*>(shown_ + offset);
}

void Pool::release(void* address) noexcept {
  if (!address) return;
  if (!far()) return ::operator delete (address, std::align_val_t{64});
  const std::lock_guard lock(mutex_);
  const auto taken = taken_.find(static_cast<std::size_t>(static_cast<std::byte*>(address) - shown_));
  if (taken == taken_.end()) return;
  ::madvise(bytes_ + taken->first, taken->second, MADV_DONTNEED);
  in_use_ -= taken->second;
  taken_.erase(taken);
}

std::size_t Pool::free() const {
  const std::lock_guard lock(mutex_);
  return most_ - in_use_;
}

void* Pool::real(const void* address) const {
  auto* at = static_cast<std::byte*>(const_cast<void*>(address));
  if (!far()) return at;
  return at >= shown_ && at < shown_ + range ? bytes_ + (at - shown_) : nullptr;
}

} // namespace dlhost::plugins::ref
