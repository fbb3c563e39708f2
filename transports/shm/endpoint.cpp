#include "endpoint.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstring>

namespace dlhost::plugins::shm {

namespace {

constexpr std::string_view scheme = "shm:";
// The interval of looking for dead peers, and the longest sleep.
constexpr Nanoseconds look_for_dead = 50'000'000;
// A waiting task polls for the time that an answer from another core takes; then it yields its core between polls.
// Waking a sleeping core takes longer than most answers.
constexpr Nanoseconds spin = 2'000, lend = 100'000;
constexpr std::size_t sends_that_wait = 1024;

std::atomic<std::uint32_t> endpoints_made{0};

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Grows a full queue; rare.
template <class T> void append(boost::circular_buffer<T>& queue, const T& value) {
  if (queue.full()) queue.set_capacity(queue.capacity() * 2);
  queue.push_back(value);
}

bool plain_name(std::string_view name) {
  return !name.empty() && name.size() < sizeof Slot::owner - 16 &&
         std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; });
}

} // namespace

ShmEndpoint::ShmEndpoint(Host& host, std::string own, const RingShape& shape)
    : host_(host), own_(std::move(own)), shape_(shape), rooms_(64), done_(64) {}

Result<std::unique_ptr<Endpoint>> ShmEndpoint::open(Host& host, std::string_view name, const RingShape& shape) {
  remove_leftovers();
  std::string word;
  for (const char c : name.substr(0, 32)) word += plain_name({&c, 1}) ? c : '_';
  std::unique_ptr<ShmEndpoint> made(
      new ShmEndpoint(host, concat(prefix_of_user(), getpid(), "-", endpoints_made.fetch_add(1), "-", word), shape));
  DLHOST_TRY(made->open_inbox());
  return std::unique_ptr<Endpoint>(std::move(made));
}

Status ShmEndpoint::open_inbox() {
  DLHOST_ASSIGN(auto made, Segment::make_owned(own_ + std::string(inbox_suffix), sizeof(Inbox)));
  inbox_ = std::make_shared<Segment>(std::move(made));
  auto* inbox = new (inbox_->data()) Inbox;
  inbox->process = getpid();
  inbox->show();
  return {};
}

ShmEndpoint::~ShmEndpoint() {
  if (!inbox_) return;
  remove_leftovers(); // of killed peers: this endpoint may be the last of all
  inbox().closed.store(1, std::memory_order_release);
  for (const auto& peer : peers_)
    if (peer) ring_bell(peer->inbox());
}

std::string ShmEndpoint::address() const { return concat(scheme, own_); }

Result<PeerId> ShmEndpoint::known(const std::string& owner) {
  for (PeerId id = 0; id < peers_.size(); ++id)
    if (peers_[id] && peers_[id]->owner() == owner) return id;
  DLHOST_ASSIGN(auto made, Peer::open(owner));
  peers_.push_back(std::move(made));
  return static_cast<PeerId>(peers_.size() - 1);
}

Result<PeerId> ShmEndpoint::connect(std::string_view address) {
  if (!address.starts_with(scheme) || !plain_name(address.substr(scheme.size())))
    return Status::invalid("'", address, "' is not an address of the shm transport: they begin with ", scheme);
  DLHOST_ASSIGN(const PeerId id, known(std::string(address.substr(scheme.size()))));
  if (!peers_[id]->can_send()) DLHOST_TRY(peers_[id]->announce(own_, rings_++, shape_));
  return id;
}

Result<Peer*> ShmEndpoint::peer(PeerId id) {
  if (id >= peers_.size() || !peers_[id]) return Status::invalid("there is no peer ", id);
  if (peers_[id]->told_gone) return Status::gone("the peer '", peers_[id]->owner(), "' has ended");
  return peers_[id].get();
}

void ShmEndpoint::disconnect(PeerId id) {
  if (id >= peers_.size() || !peers_[id]) return;
  give_room_back(*peers_[id]);
  peers_[id].reset();
}

void ShmEndpoint::complete(const Completion& completion) { append(done_, completion); }

Status ShmEndpoint::post_send(PeerId id, std::uint64_t tag, std::span<const std::byte> bytes, std::uint64_t cookie) {
  if (bytes.size() > largest_message)
    return Status::invalid(bytes.size(), " bytes, but a message has at most ", largest_message);
  DLHOST_ASSIGN(Peer * to, peer(id));
  if (!to->can_send()) DLHOST_TRY(to->announce(own_, rings_++, shape_)); // the first answer to a peer that connected
  if (to->sending.size() >= sends_that_wait)
    return Status::timeout("the peer '", to->owner(), "' takes messages more slowly than they come");
  append(to->sending, Sending{bytes, tag, cookie, 0});
  if (to->sending.size() == 1) send_to(id, *to);
  return {};
}

Status ShmEndpoint::post_recv(std::span<std::byte> room, std::uint64_t cookie) {
  append(rooms_, Receiving{.room = room, .cookie = cookie});
  return {};
}

// Writes parts while the ring has room.
bool ShmEndpoint::send_to(PeerId id, Peer& to) {
  bool did = false;
  while (!to.sending.empty()) {
    Sending& message = to.sending.front();
    const std::size_t size = to.out().part_of(message.bytes.size() - message.gone);
    if (!to.out().has_room(size)) break;
    const auto part = message.bytes.subspan(message.gone, size);
    message.gone += size;
    const bool last = message.gone == message.bytes.size();
    to.out().write(message.tag, message.bytes.size(), part, last);
    did = true;
    if (!last) continue;
    complete({Completion::Kind::sent, id, message.cookie, message.tag, message.bytes.size()});
    to.sending.pop_front();
  }
  if (did) ring_bell(to.inbox());
  return did;
}

bool ShmEndpoint::receive_from(PeerId id, Peer& from) {
  bool did = false, told = false;
  while (from.in().has_part()) {
    const auto part = from.in().part();
    if (!take(id, from, part)) break;
    did = true;
    told |= from.in().done(part);
  }
  // When the ring is empty, the writer gets all of it back.
  if (did && !from.in().has_part()) told |= from.in().tell();
  if (told) ring_bell(from.inbox());
  return did;
}

// False: no room for a new message.
bool ShmEndpoint::take(PeerId id, Peer& from, const RingReader<>::Part& part) {
  if (!from.receiving) {
    if (rooms_.empty()) return false;
    from.receiving = rooms_.front();
    rooms_.pop_front();
    from.receiving->total = part.head.total;
    from.receiving->tag = part.head.tag;
  }
  Receiving& message = *from.receiving;
  const std::size_t come = message.come + part.bytes.size();
  const bool is_last = part.head.last != 0;
  if (!part.whole || part.head.total != message.total || come > message.total || is_last != (come == message.total)) {
    host_.log().write(LogLevel::error,
                      concat("shm: the peer '", from.owner(), "' wrote an invalid message; it counts as gone"));
    bury(id, from);
    return false;
  }
  if (message.come < message.room.size())
    RealMemory::copy(message.room.data() + message.come, part.bytes.data(),
                     std::min(part.bytes.size(), message.room.size() - message.come));
  message.come = come;
  if (!is_last) return true;
  complete({Completion::Kind::received, id, message.cookie, message.tag, message.total});
  from.receiving.reset();
  return true;
}

void ShmEndpoint::accept_new() {
  const std::uint32_t announcements = inbox().announcements.load(std::memory_order_acquire);
  if (announcements == announcements_) return;
  announcements_ = announcements;
  for (Slot& slot : inbox().slots) {
    if (slot.state.load(std::memory_order_acquire) != Slot::announced) continue;
    slot.state.store(Slot::accepted, std::memory_order_relaxed);
    const std::string owner(slot.owner, strnlen(slot.owner, sizeof slot.owner));
    const Status accepted = [&]() -> Status {
      if (!plain_name(owner)) return Status::corrupt("an announcement without a name");
      DLHOST_ASSIGN(const PeerId id, known(owner));
      return peers_[id]->accept(slot);
    }();
    if (accepted.ok()) continue;
    const bool of_its_making =
        accepted.code() == Code::corrupt || accepted.code() == Code::not_found; // or it has ended
    if (of_its_making)
      host_.log().write(LogLevel::warning, concat("shm: ", accepted.message()));
    else if (broken_.ok())
      broken_ = accepted; // its messages cannot come, and it does not know
  }
}

bool ShmEndpoint::turn() {
  accept_new();
  bool did = false;
  const std::size_t count = peers_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto id = static_cast<PeerId>((first_ + i) % count);
    if (!peers_[id] || peers_[id]->told_gone) continue;
    Peer& peer = *peers_[id];
    if (!peer.sending.empty()) did |= send_to(id, peer);
    if (peer.can_receive()) did |= receive_from(id, peer);
  }
  if (count > 1) first_ = (first_ + 1) % count;
  return did;
}

void ShmEndpoint::look_for_the_dead() {
  for (PeerId id = 0; id < peers_.size(); ++id) {
    if (!peers_[id] || peers_[id]->told_gone || !peers_[id]->has_ended()) continue;
    Peer& peer = *peers_[id];
    // Messages that it wrote before its end still count; if there is no room for them yet, the report waits.
    if (peer.can_receive()) receive_from(id, peer);
    if (!peer.told_gone && !(peer.can_receive() && peer.in().has_part())) bury(id, peer);
  }
}

// Frees the room of an unfinished message for the next.
void ShmEndpoint::give_room_back(Peer& peer) {
  if (!peer.receiving) return;
  if (rooms_.full()) rooms_.set_capacity(rooms_.capacity() * 2);
  rooms_.push_front({.room = peer.receiving->room, .cookie = peer.receiving->cookie});
  peer.receiving.reset();
}

void ShmEndpoint::bury(PeerId id, Peer& peer) {
  peer.told_gone = true;
  give_room_back(peer);
  peer.sending.clear();
  complete({.kind = Completion::Kind::gone, .peer = id});
}

std::size_t ShmEndpoint::hand_out(std::span<Completion> out) {
  const std::size_t count = std::min(out.size(), done_.size());
  std::copy_n(done_.begin(), count, out.begin());
  done_.erase_begin(count);
  return count;
}

Result<std::size_t> ShmEndpoint::progress(std::span<Completion> out, Nanoseconds limit) {
  if (out.empty()) return Status::invalid("progress() needs room for a completion");
  turn();
  if (const std::size_t count = hand_out(out)) return count;
  const Nanoseconds begin = host_.clock().now();
  Nanoseconds moved = begin; // time of the last progress: large messages come in parts
  for (Nanoseconds now = begin;; now = host_.clock().now()) {
    if (woken_.exchange(false, std::memory_order_acquire)) return hand_out(out);
    if (now - looked_ > look_for_dead) {
      looked_ = now;
      look_for_the_dead();
    }
    if (const std::size_t count = hand_out(out)) return count; // dead peers
    if (!broken_.ok()) return broken_;
    if (now - begin >= limit) return std::size_t{0};
    bool did = false;
    if (now < moved + spin) {
      for (int i = 0; i < 16 && !(did = turn()); ++i) relax();
    } else if (now < moved + lend) {
      sched_yield();
      did = turn();
    } else {
      sleep(std::min(limit - (now - begin), look_for_dead));
      did = turn();
    }
    if (did) moved = now;
    if (const std::size_t count = hand_out(out)) return count;
  }
}

// A sender sees `sleeping`, or this side sees the sender's message: ring_bell() has a fence between its write and read,
// and so has this function.
void ShmEndpoint::sleep(Nanoseconds limit) {
  const std::uint32_t rung = inbox().bell.load(std::memory_order_acquire);
  inbox().sleeping.store(1, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!turn() && done_.empty() && !woken_.load(std::memory_order_relaxed)) sleep_until_bell(inbox(), rung, limit);
  inbox().sleeping.store(0, std::memory_order_relaxed);
}

void ShmEndpoint::wake() {
  woken_.store(true, std::memory_order_release);
  ring_bell_always(inbox());
}

} // namespace dlhost::plugins::shm
