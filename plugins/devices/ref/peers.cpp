#include "peers.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "stream.h"

namespace dlhost::plugins::ref {
namespace {

Status failed(const char* doing, const std::string& name) {
  return Status::gone("ref: ", doing, " what '", name, "' convened: ", std::strerror(errno));
}

} // namespace

Result<std::unique_ptr<Convened>> Convened::make() {
  const int file = ::memfd_create("dlhost-ref", MFD_CLOEXEC);
  if (file < 0) return failed("making", "this process");
  std::uint64_t token = 0;
  const bool made = ::getrandom(&token, sizeof token, 0) == sizeof token &&
                    ::ftruncate(file, static_cast<off_t>(RefPeers::bytes(RefPeers::most))) == 0 &&
                    ::pwrite(file, &token, sizeof token, 0) == sizeof token;
  std::unique_ptr<Convened> convened(new Convened(file, concat("/proc/", ::getpid(), "/fd/", file, " ", token)));
  if (!made) return failed("making", convened->name());
  return convened;
}

Convened::~Convened() { ::close(file_); }

std::size_t RefPeers::bytes(int count) { return 64 + static_cast<std::size_t>(count) * sizeof(Slot); }

RefPeers::Shared& RefPeers::shared() const { return *reinterpret_cast<Shared*>(memory_.data()); }

RefPeers::Slot& RefPeers::slot(int rank) const { return *reinterpret_cast<Slot*>(memory_.data() + bytes(rank)); }

// Counters start at zero, since new memory from the kernel is zero. The token tells a file of the same name on another
// machine, which is left untouched.
Result<std::unique_ptr<Peers>> RefPeers::join(const Pool& pool, const std::string& convened, int rank, int count) {
  if (rank < 0 || rank >= count || count > most)
    return Status::invalid("ref: rank ", rank, " of ", count, "; there are ", most, " at most");
  const std::size_t space = convened.find(' ');
  const int file = ::open(convened.substr(0, space).c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return failed("joining", convened);
  std::uint64_t token = 0;
  const bool is_it = ::pread(file, &token, sizeof token, 0) == sizeof token &&
                     convened == concat(convened.substr(0, space), " ", token);
  const std::size_t size = bytes(count);
  void* memory = is_it ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  const Status status = !is_it ? Status::unsupported("ref sums within one machine, and '", convened, "' is of another")
                        : memory == MAP_FAILED ? failed("mapping", convened)
                                               : Status();
  ::close(file);
  DLHOST_TRY(Status(status));
  std::unique_ptr<RefPeers> peers(new RefPeers(pool, {static_cast<std::byte*>(memory), size}, rank, count));
  peers->shared().came.fetch_add(1, std::memory_order_release);
  return std::unique_ptr<Peers>(std::move(peers));
}

RefPeers::~RefPeers() { ::munmap(memory_.data(), memory_.size()); }

// Far: the stream first catches up, so that the values are computed.
void RefPeers::add(Stream& stream, void* values, std::int64_t count, bool maximum) {
  static_cast<RefStream&>(stream).catch_up();
  auto* real = static_cast<float*>(pool_.real(values));
  if (!real) {
    if (first_.ok()) first_ = Status::invalid("ref: the memory to sum is not device memory");
    return;
  }
  if (count > 0) rows_.push_back({real, count, maximum});
}

Result<bool> RefPeers::ready() {
  if (abandoned_) return Status::gone("ref: a peer is gone");
  DLHOST_TRY(Status(first_));
  if (shared().came.load(std::memory_order_acquire) < static_cast<std::uint32_t>(count_)) return false;
  while (!rows_.empty()) {
    const Row& row = rows_.front();
    const std::int64_t length = std::min(piece, row.count - begin_);
    float* const values = row.values + begin_;
    const std::size_t which = done_ % 2;
    if (!std::exchange(written_, true)) {
      std::copy_n(values, length, slot(rank_).values[which]);
      slot(rank_).written.store(done_ + 1, std::memory_order_release);
    }
    for (int rank = 0; rank < count_; ++rank)
      if (slot(rank).written.load(std::memory_order_acquire) <= done_) return false;
    std::copy_n(slot(0).values[which], length, values);
    for (int rank = 1; rank < count_; ++rank) {
      const float* const others = slot(rank).values[which];
      for (std::int64_t i = 0; i < length; ++i)
        values[i] = row.maximum ? std::max(values[i], others[i]) : values[i] + others[i];
    }
    written_ = false;
    ++done_;
    begin_ += length;
    if (begin_ < row.count) continue;
    begin_ = 0;
    rows_.erase(rows_.begin());
  }
  return true;
}

} // namespace dlhost::plugins::ref
