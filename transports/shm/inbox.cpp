#include "inbox.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace dlhost::plugins::shm {

void ring_bell(Inbox& inbox) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // A woken owner may wait for a core: it needs no second wake-up.
  if (inbox.sleeping.load(std::memory_order_relaxed) != 0 && inbox.sleeping.exchange(0, std::memory_order_relaxed) != 0)
    ring_bell_always(inbox);
}

void ring_bell_always(Inbox& inbox) {
  inbox.bell.fetch_add(1, std::memory_order_seq_cst);
  syscall(SYS_futex, &inbox.bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void sleep_until_bell(Inbox& inbox, std::uint32_t rung, std::int64_t limit) {
  const timespec time{limit / 1'000'000'000, limit % 1'000'000'000};
  syscall(SYS_futex, &inbox.bell, FUTEX_WAIT, rung, &time, nullptr, 0);
}

} // namespace dlhost::plugins::shm
