#include "param/message/put_queue.h"

#include <algorithm>
#include <utility>

#include "param/message/growing_queue.h"

namespace dlhost::param {
namespace {

// The speed of a link is measured over `measured_for`. The bytes that it carries in `worth_of_it` may be under way.
constexpr Nanoseconds measured_for = 5'000'000, worth_of_it = 20'000'000;
constexpr std::size_t least_under_way = std::size_t{1} << 20;

} // namespace

PutQueue::PutQueue(Clock& clock, std::size_t credit, std::size_t most_under_way)
    : clock_(clock), most_(most_under_way), waiting_(credit), states_(credit), limit_(most_under_way) {}

std::uint64_t PutQueue::add(std::span<const std::byte> here, const RemoteCopy& there, std::uint64_t offset,
                            std::int64_t rank) {
  append(waiting_, Put{here, &there, offset, ++puts_, rank});
  append(states_, State{.seat = there.seat, .bytes = here.size()});
  return puts_;
}

std::optional<std::size_t> PutQueue::next() const {
  const auto next =
      std::ranges::min_element(waiting_, {}, [](const Put& put) { return std::pair(put.rank, put.number); });
  if (next == waiting_.end()) return {};
  const bool fits = under_way_ == 0 || under_way_ + next->here.size() <= limit_;
  return fits ? std::optional(static_cast<std::size_t>(next - waiting_.begin())) : std::nullopt;
}

void PutQueue::start(std::size_t place) {
  const Put put = waiting_[place];
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(place));
  state(put.number).stage = State::Stage::on_its_way;
  if (under_way_ == 0) measured_since_ = 0; // the link was idle: the measurement starts again
  under_way_ += put.here.size();
}

void PutQueue::finish(std::uint64_t number) {
  if (number <= puts_done_ || number > puts_) return; // its receiver is gone, and the queue was cleared
  State& put = state(number);
  put.stage = State::Stage::there;
  under_way_ -= put.bytes;
  measure(put.bytes);
  for (; !states_.empty() && states_.front().stage == State::Stage::there; ++puts_done_) states_.pop_front();
}

void PutQueue::clear() {
  waiting_.clear();
  states_.clear();
  puts_done_ = puts_;
  under_way_ = 0;
}

bool PutQueue::is_past(std::uint64_t number, std::uint32_t seat, bool in_order) const {
  if (number <= puts_done_) return true;
  const State& put = states_[number - puts_done_ - 1];
  if (put.stage == State::Stage::there) return true;
  return put.stage == State::Stage::on_its_way && put.seat == seat && in_order;
}

bool PutQueue::are_past(std::uint64_t number, std::uint32_t seat, bool in_order) const {
  for (std::uint64_t put = puts_done_ + 1; put <= number; ++put)
    if (!is_past(put, seat, in_order)) return false;
  return true;
}

void PutQueue::measure(std::size_t bytes) {
  const Nanoseconds now = clock_.now();
  measured_ += bytes;
  if (measured_since_ == 0) {
    measured_since_ = now;
    measured_ = 0;
  }
  const Nanoseconds took = now - measured_since_;
  if (took < measured_for) return;
  const double carried = static_cast<double>(measured_) * static_cast<double>(worth_of_it) / static_cast<double>(took);
  limit_ = std::clamp(static_cast<std::size_t>(carried), std::min(least_under_way, most_), most_);
  measured_since_ = now;
  measured_ = 0;
}

} // namespace dlhost::param
