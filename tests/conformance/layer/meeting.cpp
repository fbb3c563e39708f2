#include "layer/meeting.h"

#include <algorithm>

#include "context.h"

namespace dlhost::conform {

namespace {

class Combine final : public HostOp {
 public:
  Combine(Meeting& meeting, std::size_t rank, Meeting::How how, std::int64_t count)
      : meeting_(meeting), rank_(rank), how_(how), count_(static_cast<std::size_t>(count)) {
    kernel = "meeting of peers";
  }
  Status compute(const HostCall& call) override {
    return meeting_.combine(rank_, how_, {static_cast<float*>(call.out[0]), count_});
  }

 private:
  Meeting& meeting_;
  std::size_t rank_;
  Meeting::How how_;
  std::size_t count_;
};

} // namespace

Meeting::Meeting(Host& host, std::size_t count) : host_(host), waiter_(host.tasks().waiter()), brought_(count) {}

template <class Condition> Status Meeting::until(std::unique_lock<std::mutex>& lock, Condition condition) {
  const Nanoseconds deadline = host_.clock().now() + patience;
  while (!condition()) {
    const auto ticket = waiter_->ticket();
    const Nanoseconds left = deadline - host_.clock().now();
    if (left <= 0) return Status::timeout("a peer did not come: the pieces do not make the same calls");
    lock.unlock();
    waiter_->wait(ticket, left);
    lock.lock();
  }
  return {};
}

Status Meeting::combine(std::size_t rank, How how, std::span<float> values) {
  std::unique_lock lock(mutex_);
  DLHOST_TRY(until(lock, [&] { return !leaving_; })); // of the previous meeting
  if (come_ == 0) how_ = how;
  brought_[rank].assign(values.begin(), values.end());
  leaving_ = ++come_ == brought_.size();
  waiter_->notify_all();
  DLHOST_TRY(until(lock, [&] { return leaving_; }));
  const bool same =
      how == how_ && std::ranges::all_of(brought_, [&](const auto& one) { return one.size() == values.size(); });
  if (same) std::copy(brought_[0].begin(), brought_[0].end(), values.begin());
  for (std::size_t peer = 1; same && peer < brought_.size(); ++peer)
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = how == How::sum ? values[i] + brought_[peer][i] : std::max(values[i], brought_[peer][i]);
  if (++gone_ == brought_.size()) {
    come_ = gone_ = 0;
    leaving_ = false;
    waiter_->notify_all();
  }
  return same ? Status() : Status::invalid("the pieces meet for different things");
}

void MeetingPeers::sum(Stream& stream, void* values, std::int64_t count) {
  call(stream, values, count, Meeting::How::sum);
}

void MeetingPeers::maximum(Stream& stream, void* values, std::int64_t count) {
  call(stream, values, count, Meeting::How::maximum);
}

void MeetingPeers::call(Stream& stream, void* values, std::int64_t count, Meeting::How how) {
  auto& op = ops_[{how, count}];
  if (!op) op = std::make_unique<Combine>(meeting_, rank_, how, count);
  op->run(stream, {}, {values});
}

} // namespace dlhost::conform
