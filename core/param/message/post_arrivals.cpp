// Completions of a post's transports: messages that arrive, sends and puts that are done, peers that are gone.
#include <algorithm>

#include "param/message/post.h"

namespace dlhost::param {
namespace {

// A task can sleep on one endpoint only. If it has two, it polls both between short sleeps, which grow while it waits.
constexpr Nanoseconds shortest_nap = 10'000, longest_nap = 1'000'000;
constexpr Nanoseconds parts_of_waiting = 8;

} // namespace

// After a failure the remaining completions are processed too: one of them may be the message that ends the run.
Status Post::progress(MessageHandler& taker, Nanoseconds limit) {
  DLHOST_TRY(flush(true));
  const Nanoseconds patience = waits_for_room() ? 0 : limit;
  EndpointBuffers* line = near_ ? near_.get() : far_.get();
  std::size_t count = 0;
  if (near_ && far_) {
    DLHOST_ASSIGN(count, progress_either(patience, line));
  } else {
    DLHOST_ASSIGN(count, line->endpoint().progress(completions_, patience));
  }
  Status first;
  for (std::size_t c = 0; c < count; ++c) {
    Status status = deal_with(completions_[c], *line, taker);
    if (first.ok()) first = std::move(status);
  }
  Status flushed = flush(false); // messages that waited for these completions, and answers
  return first.ok() ? std::move(flushed) : std::move(first);
}

Result<std::size_t> Post::progress_either(Nanoseconds limit, EndpointBuffers*& whose) {
  Nanoseconds begin = 0, waited = 0;
  while (true) {
    whose = far_.get();
    DLHOST_ASSIGN(const std::size_t far, far_->endpoint().progress(completions_, 0));
    if (far > 0) return far;
    whose = near_.get();
    const Nanoseconds nap = limit == 0 ? 0 : std::clamp(waited / parts_of_waiting, shortest_nap, longest_nap);
    DLHOST_ASSIGN(const std::size_t near, near_->endpoint().progress(completions_, std::min(nap, limit - waited)));
    if (near > 0 || limit == 0) return near;
    const Nanoseconds now = host_.clock().now();
    if (begin == 0) begin = now - std::min(nap, limit);
    waited = now - begin;
    if (waited >= limit) return std::size_t{0};
  }
}

Status Post::deal_with(const Completion& completion, EndpointBuffers& line, MessageHandler& taker) {
  switch (completion.kind) {
  case Completion::Kind::sent: line.finish(static_cast<std::uint32_t>(completion.cookie)); return {};
  case Completion::Kind::received: return receive(completion, line, taker);
  case Completion::Kind::gone: {
    const std::uint32_t seat = seat_of(completion.peer, line);
    return seat == peers_.size() ? Status() : hear_gone(seat, line, taker);
  }
  case Completion::Kind::put: {
    const std::uint64_t number = completion.cookie & ((std::uint64_t{1} << number_bits) - 1);
    ways_.at(completion.cookie >> number_bits).puts.finish(number);
    return {};
  }
  case Completion::Kind::got: return {};
  }
  return {};
}

Status Post::hear_gone(std::uint32_t seat, EndpointBuffers& line, MessageHandler& taker) {
  if (!is_far(seat)) {
    DLHOST_ASSIGN(const bool is_borne, taker.lose(seat));
    if (is_borne) {
      drop_messages(seat, line);
      return {};
    }
  }
  gone_.push_back(seat);
  // Drops the puts to its machine, so that the messages to the other seats there do not wait for them.
  ways_[machines_[seat]].puts.clear();
  return Status::gone(name_of(seat), " is gone");
}

// The transport drops messages that still arrive from the seat.
void Post::drop_messages(std::uint32_t seat, EndpointBuffers& line) {
  auto& outbox = ways_[machines_[seat]].outbox;
  const auto left = std::remove_if(outbox.begin(), outbox.end(), [&](const Outgoing& one) { return one.seat == seat; });
  outbox.erase_end(static_cast<std::size_t>(outbox.end() - left));
  line.drop(seat);
  peers_[seat] = {.lost = true};
}

Status Post::receive(const Completion& completion, EndpointBuffers& line, MessageHandler& taker) {
  const auto room = line.room(completion.cookie);
  const auto bytes = room.first(std::min(completion.bytes, room.size()));
  const std::uint32_t seat = seat_of(completion.peer, line);
  Status status;
  if (seat < peers_.size())
    status = &line == far_.get() ? open_bundle(bytes, seat, taker) : open_message({bytes, {}}, seat, taker);
  else if (!is_any_out_of_reach()) // else of a worker that died before this one, which joins the run, could connect
    status = Status::corrupt("a message from an unknown peer has arrived at seat ", seat_);
  DLHOST_TRY(line.empty_room(completion.cookie));
  return status;
}

bool Post::is_any_out_of_reach() const {
  for (std::uint32_t seat = 0; seat < peers_.size(); ++seat)
    if (seat != seat_ && !peers_[seat].connected) return true;
  return false;
}

Status Post::open_bundle(std::span<const std::byte> bytes, std::uint32_t from, MessageHandler& taker) {
  Status first;
  for (BundleReader reader(bytes); !reader.at_end();) {
    DLHOST_ASSIGN(const auto message_out, reader.next());
    Status status = open_message(message_out, from, taker);
    if (first.ok()) first = std::move(status);
  }
  return first;
}

Status Post::open_message(const BundleReader::Entry& entry, std::uint32_t from, MessageHandler& taker) {
  Message message;
  DLHOST_ASSIGN(const auto finding, inbox_.open(entry, from, message));
  if (finding == Inbox::Finding::dropped) return {};
  if (finding == Inbox::Finding::valid) return taker.take(from, message.body);
  gone_.push_back(from);
  return Status::gone(name_of(from), " is out of reach: messages from it were lost on the way to worker ", seat_);
}

} // namespace dlhost::param
