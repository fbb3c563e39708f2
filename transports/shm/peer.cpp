#include "peer.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace dlhost::plugins::shm {

Result<std::unique_ptr<Peer>> Peer::open(std::string owner) {
  std::unique_ptr<Peer> made(new Peer(std::move(owner)));
  DLHOST_ASSIGN(made->inbox_, Segment::open(made->owner_ + std::string(inbox_suffix)));
  if (!Inbox::ready(made->inbox_) || made->inbox().closed.load(std::memory_order_acquire) != 0)
    return Status::not_found("the endpoint '", made->owner_, "' has ended, or is of another version of dlhost");
  // An endpoint of this process needs no pidfd.
  if (made->inbox().process == getpid()) return made;
  // A process that has ended already cannot be watched, so check first: a living one holds the lock on its inbox.
  if (const auto kept = Segment::open(made->owner_ + std::string(inbox_suffix), Segment::File::keep);
      kept.ok() && kept->try_own())
    return Status::not_found("the process of the endpoint '", made->owner_, "' has ended");
  // Without a pidfd (old system, or another namespace) the end of the process is not noticed here.
  made->process_ = static_cast<int>(syscall(SYS_pidfd_open, made->inbox().process, 0));
  if (made->process_ < 0 && (errno == EMFILE || errno == ENFILE))
    return Status::system(errno, concat("watching the process of the endpoint '", made->owner_, "'"));
  return made;
}

Peer::~Peer() {
  if (slot_) slot_->state.store(Slot::free, std::memory_order_release);
  if (process_ >= 0) close(process_);
}

bool Peer::has_ended() const {
  if (inbox().closed.load(std::memory_order_acquire) != 0) return true;
  pollfd watched{process_, POLLIN, 0};
  return process_ >= 0 && poll(&watched, 1, 0) == 1;
}

Status Peer::announce(const std::string& own, std::uint32_t number, const RingShape& shape) {
  DLHOST_ASSIGN(out_segment_, Segment::make(concat(own, ".ring", number), RingMemory<RealMemory>::bytes(shape)));
  RingMemory<RealMemory>::make(out_segment_.data(), shape);
  for (Slot& slot : inbox().slots) {
    std::uint32_t free = Slot::free;
    if (!slot.state.compare_exchange_strong(free, Slot::claimed, std::memory_order_acquire)) continue;
    slot.ring = number;
    slot.cells = shape.cells;
    slot.blocks = shape.blocks;
    slot.block = shape.block;
    slot.owner[own.copy(slot.owner, sizeof slot.owner - 1)] = '\0';
    slot.state.store(Slot::announced, std::memory_order_release);
    inbox().announcements.fetch_add(1, std::memory_order_release);
    slot_ = &slot;
    out_.emplace(out_segment_.data(), shape);
    ring_bell(inbox());
    return {};
  }
  return Status::no_space("the endpoint '", owner_, "' has ", std::size(inbox().slots), " peers, and takes no more");
}

Status Peer::accept(Slot& slot) {
  const RingShape shape{slot.cells, slot.blocks, slot.block};
  constexpr std::uint32_t most = 1 << 20;
  if (shape.cells == 0 || shape.cells > most || shape.blocks == 0 || shape.blocks > most || shape.block > most * 64)
    return Status::corrupt("the endpoint '", owner_, "' announces a ring of ", shape.cells, " cells and ", shape.blocks,
                           " blocks of ", shape.block, " bytes");
  DLHOST_ASSIGN(in_segment_, Segment::open(concat(owner_, ".ring", slot.ring)));
  if (in_segment_.size() < RingMemory<RealMemory>::bytes(shape))
    return Status::corrupt("the ring of '", owner_, "' is smaller than announced");
  in_.emplace(in_segment_.data(), shape);
  return {};
}

} // namespace dlhost::plugins::shm
