#include "courier.h"

#include <algorithm>

namespace dlhost::plugins::sim {
namespace {

constexpr std::ptrdiff_t most_waiting = 48; // to one peer
constexpr Nanoseconds look_again = 1'000'000'000;

// The same in each run for endpoints with the same name.
std::uint32_t stream_of(const std::string& name) {
  std::uint32_t stream = 0x811C9DC5; // FNV-1a
  for (const char letter : name) stream = (stream ^ static_cast<unsigned char>(letter)) * 0x01000193;
  return stream;
}

} // namespace

Courier::Courier(Host& host, const Weather& weather, std::shared_ptr<Box> own)
    : host_(host), weather_(weather), own_(std::move(own)), random_({weather.seed, stream_of(own_->name)}, 0, 0),
      fates_({weather.seed, stream_of(concat(own_->name, " ", host.clock().now()))}, 0, 1),
      changed_(host.tasks().waiter()),
      task_(host.tasks().start(concat("courier of ", own_->name), [this] { work(); })) {}

Courier::~Courier() {
  {
    const std::scoped_lock lock(guard_);
    ending_ = true;
  }
  changed_->notify_all();
  task_->join();
}

bool Courier::take(std::shared_ptr<const Link> link, Errand errand) {
  {
    const std::scoped_lock lock(guard_);
    const auto to_it = [&](const auto& one) { return one.second.link->peer == link->peer; };
    if (std::ranges::count_if(waiting_, to_it) >= most_waiting) return false;
    const auto spread = static_cast<double>(weather_.most - weather_.least);
    const Nanoseconds takes =
        weather_.least + static_cast<Nanoseconds>(spread * static_cast<double>(random_.uniform()));
    Nanoseconds& last = last_[link->peer];
    const Nanoseconds due = std::max(last, host_.clock().now() + takes);
    if (!errand.late) last = due;
    waiting_.emplace(errand.late ? due + weather_.most : due, Waiting{std::move(link), std::move(errand)});
  }
  changed_->notify_all();
  return true;
}

Courier::Fate Courier::fate() {
  const double doubled = weather_.lost + weather_.doubled, reordered = doubled + weather_.reordered;
  if (reordered == 0) return {}; // draws no number
  const std::scoped_lock lock(guard_);
  const auto draw = static_cast<double>(fates_.uniform());
  if (draw < weather_.lost) return {.times = 0};
  if (draw < doubled) return {.times = 2};
  return {.late = draw < reordered};
}

void Courier::forget(PeerId peer) {
  const std::scoped_lock lock(guard_);
  std::erase_if(waiting_, [&](const auto& one) { return one.second.link->peer == peer; });
}

std::vector<Courier::Waiting> Courier::due(Nanoseconds now) {
  const auto end = waiting_.upper_bound(now);
  std::vector<Waiting> due;
  for (auto one = waiting_.begin(); one != end; ++one) due.push_back(std::move(one->second));
  waiting_.erase(waiting_.begin(), end);
  return due;
}

void Courier::work() {
  while (true) {
    const std::uint64_t ticket = changed_->ticket();
    const Nanoseconds now = host_.clock().now();
    Nanoseconds pause = look_again;
    bool did = false;
    {
      const std::scoped_lock lock(guard_);
      for (const auto& [link, errand] : due(now)) {
        did = true;
        if (link->is_cut(now) || (ending_ && errand.needs_owner)) continue; // lost
        const Completion completion = errand.act();
        const std::scoped_lock own_lock(own_->guard);
        own_->done.push_back(completion);
      }
      if (ending_ && waiting_.empty()) return;
      if (!waiting_.empty()) pause = waiting_.begin()->first - now;
    }
    if (did) own_->changed->notify_all();
    changed_->wait(ticket, pause);
  }
}

} // namespace dlhost::plugins::sim
