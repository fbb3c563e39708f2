#include "plugin/activity.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <string>
#include <tuple>

#include <csignal>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "env/process/process.h"
#include "plugin/fault_text.h"
#include "plugin/faults.h"

namespace dlhost::plugin {

namespace detail {
std::array<ActivitySlot, slot_count> activity_slots;
std::atomic<bool> is_forked_child{false};

void end_forked_child(const ActivitySlot& slot) noexcept {
  const Doing doing = read_slot(slot);
  FaultLine line;
  line << "a child process that ";
  if (doing.actor) {
    put_plugin(line, *doing.actor);
    line << " forked in ";
    put_place(line, *doing.actor, doing.phase, doing.step);
  } else {
    line << "a plugin forked";
  }
  line << " returned from that call: the child ends here, and the run goes on in its parent. A forked child has to end "
          "with _exit or exec";
  line.write();
  env::end_now(fault_exit_code);
}
} // namespace detail

namespace {

detail::ActivitySlot unnamed_slot; // shared by all tasks that found no free slot

// Signal frames hold the vector registers, which have grown beyond the traditional size.
std::size_t stack_bytes() {
  const long wanted = sysconf(_SC_SIGSTKSZ);
  return std::max<std::size_t>(wanted > 0 ? static_cast<std::size_t>(wanted) : 0, 128 * 1024);
}

bool operator<(const Actor& a, const Actor& b) {
  // Compares addresses: immortal texts are equal exactly when their addresses are.
  return std::tie(a.kind, a.instance, a.plugin, a.path) < std::tie(b.kind, b.instance, b.plugin, b.path);
}

struct ActorOrder {
  bool operator()(const Actor& a, const Actor& b) const { return a < b; }
};

} // namespace

// Core itself does not fork, and posix_spawn does not come here.
void watch_forked_children() {
  pthread_atfork(nullptr, nullptr, [] { detail::is_forked_child = true; });
}

const char* immortal(std::string_view text) {
  // Never destroyed: faults may happen while the process ends.
  static auto& texts = *new std::set<std::string, std::less<>>;
  static auto& guard = *new std::mutex;
  const std::scoped_lock lock(guard);
  if (const auto known = texts.find(text); known != texts.end()) return known->c_str();
  return texts.emplace(text).first->c_str();
}

const Actor* remember(std::string_view kind, std::string_view instance, std::string_view plugin,
                      std::string_view path) {
  static auto& actors = *new std::set<Actor, ActorOrder>;
  static auto& guard = *new std::mutex;
  const Actor actor{immortal(kind), immortal(instance), immortal(plugin), immortal(path)};
  const std::scoped_lock lock(guard);
  return &*actors.insert(actor).first;
}

Activity::Activity() : slot_(&unnamed_slot) {
  static std::atomic<std::uint64_t> claims{0};
  const int thread = gettid();
  for (auto& slot : detail::activity_slots) {
    int free = 0;
    if (!slot.thread.compare_exchange_strong(free, thread)) continue;
    slot.order.store(claims.fetch_add(1) + 1);
    slot_ = &slot;
    break;
  }
  stack_t present{};
  if (sigaltstack(nullptr, &present) != 0 || !(present.ss_flags & SS_DISABLE)) return;
  void* memory = mmap(nullptr, stack_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  const stack_t mine{.ss_sp = memory, .ss_flags = 0, .ss_size = stack_bytes()};
  if (sigaltstack(&mine, nullptr) == 0)
    own_stack_ = memory;
  else
    munmap(memory, stack_bytes());
}

Activity::~Activity() {
  leave();
  if (slot_ != &unnamed_slot) slot_->thread.store(0);
  if (!own_stack_) return;
  const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
  sigaltstack(&none, nullptr);
  munmap(own_stack_, stack_bytes());
}

} // namespace dlhost::plugin
