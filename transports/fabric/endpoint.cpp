#include "endpoint.h"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <ctime>

#include <rdma/fi_errno.h>

namespace dlhost::plugins::fabric {
namespace {

// A waiting task first polls, then yields its core between polls, then sleeps between them, longer each time. If both
// sides share a core, the awaited message comes only after a yield: a task whose polling was in vain polls less the
// next time.
constexpr Nanoseconds longest_spin = 50'000, shortest_spin = 2'000, lend = 5'000'000, longest_sleep = 1'000'000;
constexpr Nanoseconds nobody_else = 3'000; // a yielded core is back within this time if no other thread wants it
// The interval for checking links while the wire is busy; else they are checked at each turn.
constexpr Nanoseconds look_again = 1'000'000;
constexpr int handed_out_unlooked = 8;             // the most turns without a look at the wire, in a row
constexpr std::size_t operations_that_wait = 1024; // for one peer
static_assert(operations_that_wait < Stamps::window);

// Grows a full queue; rare.
template <class T> void append(boost::circular_buffer<T>& queue, const T& value) {
  if (queue.full()) queue.set_capacity(queue.capacity() * 2);
  queue.push_back(value);
}

Completion::Kind kind_of(Operation::Kind kind) {
  switch (kind) {
  case Operation::Kind::put: return Completion::Kind::put;
  case Operation::Kind::get: return Completion::Kind::got;
  default: return Completion::Kind::sent;
  }
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

} // namespace

void FabricEndpoint::complete(const Completion& completion) { append(done_, completion); }

Status FabricEndpoint::post_send(PeerId id, std::uint64_t tag, std::span<const std::byte> bytes, std::uint64_t cookie) {
  if (bytes.size() > largest_message)
    return Status::invalid(bytes.size(), " bytes, but a message has at most ", largest_message);
  if (tag > wire_->tags().owner)
    return Status::invalid("the tag ", tag, ", but a message's is at most ", wire_->tags().owner,
                           " here: its other bits tell the job's messages from others");
  if (id < peers_.size() && peers_[id] && leaves_at_once(*peers_[id], tag, bytes)) {
    complete({Completion::Kind::sent, id, cookie, tag, bytes.size()});
    return {};
  }
  return post(id, {.kind = Operation::Kind::send,
                   .peer = id,
                   .tag = tag,
                   .cookie = cookie,
                   .bytes = const_cast<std::byte*>(bytes.data()), // libfabric only reads it
                   .size = bytes.size()});
}

// Sends a small message at once if none is before it. False: the wire does not take it; it is posted like any other.
bool FabricEndpoint::leaves_at_once(Peer& to, std::uint64_t tag, std::span<const std::byte> bytes) {
  if (bytes.size() > inject_size_ || !to.under_way.empty() || !to.outgoing) return false;
  const Stamp stamp = to.outgoing->of(to.sent, tag);
  if (fi_tinjectdata(wire_->endpoint(), bytes.data(), bytes.size(), stamp.data, to.at, stamp.tag) != 0) return false;
  ++to.sent;
  return true;
}

Status FabricEndpoint::post(PeerId id, const Operation& operation) {
  DLHOST_ASSIGN(Peer * to, peer(id));
  if (to->under_way.size() >= operations_that_wait)
    return Status::timeout("the peer ", to->address.called(), " takes messages more slowly than they come");
  append(to->under_way, operations_.make(operation));
  ++waiting_;
  flush(id, *to);
  return {};
}

Status FabricEndpoint::post_recv(std::span<std::byte> room, std::uint64_t cookie) {
  rooms_.push_back(operations_.make(
      {.kind = Operation::Kind::receive, .cookie = cookie, .bytes = room.data(), .size = room.size()}));
  flush_rooms();
  return {};
}

void FabricEndpoint::flush_rooms() {
  while (!rooms_.empty()) {
    Operation& room = *rooms_.front();
    if (wire_->receive({room.bytes, room.size}, token_, &room.context) != 0) return;
    rooms_.pop_front();
  }
}

bool FabricEndpoint::flush(PeerId id, Peer& to) {
  if (!to.out && !to.told_gone && (to.call_after == 0 || host_.clock().now() >= to.call_after)) {
    auto link = Link::call(terms(), to.address.where(), to.text);
    Status status = link.ok() ? watch((*link)->socket()) : std::move(link).status();
    if (!status.ok()) return broke(id, to, status), true;
    to.out = *std::move(link);
  }
  if (!to.outgoing) return false;
  bool did = false;
  while (to.posted < to.under_way.size() && hand_over(to, *to.under_way[to.posted])) {
    ++to.posted;
    --waiting_;
    did = true;
  }
  if (did) tell_done(to);
  if (to.refused != 0) broke(id, to, failed(to.refused, "the wire takes nothing more"));
  return did;
}

bool FabricEndpoint::hand_over(Peer& to, Operation& operation) {
  fid_ep* const endpoint = wire_->endpoint();
  const Stamp stamp = to.outgoing->of(to.sent, operation.tag);
  ssize_t code = 0;
  switch (operation.kind) {
  case Operation::Kind::put: {
    const iovec local{operation.bytes, operation.size};
    const fi_rma_iov remote{operation.remote, operation.size, operation.key};
    const fi_msg_rma message{&local, nullptr, 1, to.at, &remote, 1, &operation.context, 0};
    // Complete at delivery, not at transmission.
    code = fi_writemsg(endpoint, &message, FI_DELIVERY_COMPLETE | FI_COMPLETION);
    break;
  }
  case Operation::Kind::get:
    code = fi_read(endpoint, operation.bytes, operation.size, nullptr, to.at, operation.remote, operation.key,
                   &operation.context);
    break;
  default:
    if (operation.size <= inject_size_) {
      code = fi_tinjectdata(endpoint, operation.bytes, operation.size, stamp.data, to.at, stamp.tag);
      operation.done = code == 0;
    } else {
      code = fi_tsenddata(endpoint, operation.bytes, operation.size, nullptr, stamp.data, to.at, stamp.tag,
                          &operation.context);
    }
    if (code == 0) ++to.sent;
  }
  if (code != 0 && code != -FI_EAGAIN) to.refused = code;
  return code == 0;
}

// Reports sends to one peer in their order, in whatever order the provider finishes them.
void FabricEndpoint::tell_done(Peer& to) {
  while (to.posted > 0 && to.under_way.front()->done) {
    Operation* const operation = to.under_way.front();
    complete({kind_of(operation->kind), operation->peer, operation->cookie, operation->tag, operation->size});
    operations_.give_back(operation);
    to.under_way.pop_front();
    --to.posted;
  }
}

bool FabricEndpoint::turn() {
  bool did = false;
  if (!rooms_.empty()) flush_rooms();
  if (waiting_ > 0)
    for (PeerId id = 0; id < peers_.size(); ++id)
      if (peers_[id] && peers_[id]->posted < peers_[id]->under_way.size()) did |= flush(id, *peers_[id]);
  return read_queue() || did;
}

bool FabricEndpoint::read_queue() {
  std::array<fi_cq_tagged_entry, 16> entries;
  bool did = false;
  for (;;) {
    const ssize_t count = fi_cq_read(wire_->queue(), entries.data(), entries.size());
    if (count == -FI_EAVAIL) {
      read_error();
      did = true;
      continue;
    }
    if (count <= 0) return did;
    for (const auto& entry : std::span(entries).first(static_cast<std::size_t>(count))) done(entry);
    did = true;
    if (static_cast<std::size_t>(count) < entries.size()) return did;
  }
}

void FabricEndpoint::done(const fi_cq_tagged_entry& entry) {
  if (!entry.op_context) return;
  Operation& operation = *static_cast<Operation*>(entry.op_context);
  if (operation.kind == Operation::Kind::receive) return arrived(operation, {entry.data, entry.tag}, entry.len);
  operation.done = true;
  if (operation.orphan) return operations_.give_back(&operation);
  tell_done(*peers_[operation.peer]);
}

// Handles an error of the queue: a message longer than its room, or a broken wire to a peer.
void FabricEndpoint::read_error() {
  fi_cq_err_entry error{};
  if (fi_cq_readerr(wire_->queue(), &error, 0) <= 0 || !error.op_context) return;
  Operation& operation = *static_cast<Operation*>(error.op_context);
  if (operation.kind == Operation::Kind::receive) {
    if (error.err == FI_ETRUNC) return arrived(operation, {error.data, error.tag}, error.len + error.olen);
    rooms_.push_back(&operation); // for the next message
    return;
  }
  if (operation.orphan) return operations_.give_back(&operation);
  broke(operation.peer, *peers_[operation.peer], failed(error.err, "the wire broke"));
  operation.orphan = false; // complete
  operations_.give_back(&operation);
}

void FabricEndpoint::arrived(Operation& room, const Stamp& stamp, std::size_t bytes) {
  const PeerId id = stamp.sender();
  Peer* const from = id < peers_.size() ? peers_[id].get() : nullptr;
  const auto ahead = from && from->incoming ? from->incoming->ahead(stamp, from->come) : std::nullopt;
  const std::uint64_t number = ahead ? from->come + *ahead : 0;
  const bool expected = ahead && std::ranges::find(from->early, number, &Early::number) == from->early.end();
  if (!expected || from->told_gone) {
    if (!expected) drop_stray();
    rooms_.push_back(&room);
    return;
  }
  const Completion completion{Completion::Kind::received, id, room.cookie, stamp.tag & wire_->tags().owner, bytes};
  operations_.give_back(&room);
  from->heard = 0;
  if (*ahead > 0) {
    from->early.push_back({number, completion});
    return;
  }
  complete(completion);
  ++from->come;
  if (!from->early.empty()) tell_in_order(*from);
}

// Drops a message from a stranger, from a removed peer, or a duplicate. A stranger on the wire may send many: the
// warnings come at the first and at each doubled count.
void FabricEndpoint::drop_stray() {
  if (!std::has_single_bit(++strays_)) return;
  host_.log().write(LogLevel::warning,
                    concat("fabric: a message came over the wire to ", own_.substr(0, own_.find('/')),
                           " that none of its peers sent, and was dropped; ", strays_,
                           " so far. Let only the job's machines reach the address that `listen` names"));
}

void FabricEndpoint::tell_in_order(Peer& from) {
  const auto next = [&] { return std::ranges::find(from.early, from.come, &Early::number); };
  for (auto one = next(); one != from.early.end(); one = next()) {
    complete(one->completion);
    from.early.erase(one);
    ++from.come;
  }
}

std::size_t FabricEndpoint::hand_out(std::span<Completion> out) {
  const std::size_t count = std::min(out.size(), done_.size());
  std::copy_n(done_.begin(), count, out.begin());
  done_.erase_begin(count);
  return count;
}

Result<std::size_t> FabricEndpoint::progress(std::span<Completion> out, Nanoseconds limit) {
  if (out.empty()) return Status::invalid("progress() needs room for a completion");
  // Hands out completions before looking for more, because looking calls the kernel; but not always, because other
  // tasks wait too.
  if (done_.empty() || ++unlooked_ >= handed_out_unlooked) {
    unlooked_ = 0;
    turn();
  }
  if (const std::size_t count = hand_out(out)) return count;
  const Nanoseconds begin = host_.clock().now();
  Nanoseconds moved = begin;
  for (Nanoseconds now = begin;; now = host_.clock().now()) {
    if (woken_.exchange(false, std::memory_order_acquire)) return hand_out(out);
    if (now - looked_ > look_again) look_at_links();
    if (const std::size_t count = hand_out(out)) return count;
    if (now - begin >= limit) return std::size_t{0};
    bool did = false;
    if (now < moved + spin_) {
      for (int i = 0; i < 8 && !(did = turn()); ++i) relax();
      if (did) spin_ = std::min(2 * spin_, longest_spin);
    } else if (now < moved + lend) {
      sched_yield();
      const bool shared = host_.clock().now() > now + nobody_else;
      did = turn();
      if (did) spin_ = shared ? std::max(spin_ / 2, shortest_spin) : longest_spin;
    } else {
      sleep(std::min({limit - (now - begin), (now - moved) / 8, longest_sleep}));
      look_at_links();
      did = turn();
    }
    if (did) moved = now;
    if (const std::size_t count = hand_out(out)) return count;
  }
}

void FabricEndpoint::sleep(Nanoseconds limit) {
  std::array<pollfd, 2> files{pollfd{watched_.get(), POLLIN, 0}, pollfd{waker_.get(), POLLIN, 0}};
  const timespec time{limit / 1'000'000'000, limit % 1'000'000'000};
  ppoll(files.data(), files.size(), &time, nullptr);
  if ((files[1].revents & POLLIN) != 0) {
    eventfd_t times = 0;
    eventfd_read(waker_.get(), &times);
  }
}

void FabricEndpoint::wake() {
  woken_.store(true, std::memory_order_release);
  eventfd_write(waker_.get(), 1);
}

} // namespace dlhost::plugins::fabric
