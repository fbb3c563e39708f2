#include "endpoint.h"

#include <algorithm>

namespace dlhost::plugins::sim {
namespace {

constexpr Nanoseconds look_for_dead = 10'000'000;

// A region's key is known while it exists; a mapping has no key to remove.
class SimRegion final : public Region {
 public:
  SimRegion(std::shared_ptr<Memory> memory, std::string key, std::shared_ptr<Box> owner)
      : memory_(std::move(memory)), key_(std::move(key)), owner_(std::move(owner)) {}
  ~SimRegion() override {
    if (!owner_) return;
    const std::scoped_lock lock(owner_->guard);
    owner_->memory.erase(key_);
  }
  std::span<std::byte> bytes() override { return memory_->bytes; }
  std::string key() const override { return key_; }

 private:
  std::shared_ptr<Memory> memory_;
  std::string key_;
  std::shared_ptr<Box> owner_;
};

// Requires: the box is locked.
Result<std::shared_ptr<Memory>> memory_of(const Box& box, std::string_view key) {
  const auto found = box.memory.find(key);
  if (found == box.memory.end()) return Status::not_found("'", key, "' is not memory of the peer '", box.address, "'");
  return found->second;
}

// A part of a peer's memory, looked up at each use: registered memory may be removed during an operation, and other
// memory may take its place.
struct Part {
  std::shared_ptr<Box> box;
  std::string key;
  std::uint64_t offset = 0;
  std::size_t size = 0;

  template <class Use> Status use(Use with) const {
    const std::scoped_lock lock(box->guard);
    DLHOST_ASSIGN(const auto memory, memory_of(*box, key));
    const std::size_t all = memory->bytes.size();
    if (offset > all || size > all - offset)
      return Status::invalid("bytes ", offset, " to ", offset + size, " of a region that has ", all);
    with(memory->bytes.subspan(offset, size));
    return {};
  }
  Status is_there() const {
    return use([](std::span<std::byte>) {});
  }
};

constexpr std::string_view gone = "its owner has released it, and nothing reads the status";

} // namespace

SimEndpoint::SimEndpoint(Host& host, std::string_view name, Weather weather)
    : host_(host), weather_(std::move(weather)), own_(Hub::of_this_process().open(name, host.tasks().waiter())),
      courier_(std::make_unique<Courier>(host, weather_, own_)) {}

SimEndpoint::~SimEndpoint() {
  courier_.reset(); // earlier messages still count
  Hub::of_this_process().close(*own_, host_.clock().now());
}

PeerId SimEndpoint::known(const std::shared_ptr<Box>& box) {
  for (PeerId id = 0; id < peers_.size(); ++id)
    if (peers_[id].link && peers_[id].link->to == box) return id;
  auto link = std::make_shared<Link>(Link{.to = box, .peer = static_cast<PeerId>(peers_.size()), .cut = {}});
  const auto is_between = [&](const auto& fault) {
    return (fault.one == own_->name && fault.other == link->to->name) ||
           (fault.other == own_->name && fault.one == link->to->name);
  };
  const Nanoseconds now = host_.clock().now();
  for (const Cut& cut : weather_.cuts)
    if (is_between(cut)) link->cut = now + cut.after;
  for (const Outage& outage : weather_.outages)
    if (is_between(outage) && now < outage.to)
      link->cut = std::min(link->cut.value_or(outage.to), std::max(now, outage.from));
  peers_.push_back({std::move(link)});
  return peers_.back().link->peer;
}

Result<PeerId> SimEndpoint::connect(std::string_view address) {
  if (!address.starts_with("sim:"))
    return Status::invalid("'", address, "' is not an address of the sim transport: they begin with sim:");
  const auto box = Hub::of_this_process().find(address);
  if (!box) return Status::gone("no endpoint is at '", address, "'");
  return known(box);
}

Result<std::shared_ptr<Link>> SimEndpoint::link_to(PeerId id) const {
  if (id >= peers_.size() || !peers_[id].link) return Status::invalid("there is no peer ", id);
  if (peers_[id].told_gone) return Status::gone("the peer '", peers_[id].link->to->address, "' has ended");
  return peers_[id].link;
}

void SimEndpoint::disconnect(PeerId id) {
  if (id >= peers_.size() || !peers_[id].link) return;
  courier_->forget(id);
  peers_[id].link.reset();
}

Status SimEndpoint::ask(std::shared_ptr<Link> link, Courier::Errand errand) {
  if (courier_->take(std::move(link), std::move(errand))) return {};
  return Status::timeout("too many operations to this peer are under way");
}

Status SimEndpoint::post_send(PeerId id, std::uint64_t tag, std::span<const std::byte> bytes, std::uint64_t cookie) {
  if (bytes.size() > largest_message)
    return Status::invalid(bytes.size(), " bytes, but a message has at most ", largest_message);
  DLHOST_ASSIGN(auto link, link_to(id));
  const Completion sent{Completion::Kind::sent, id, cookie, tag, bytes.size()};
  const auto letter = std::make_shared<Letter>(Letter{own_, tag, {bytes.begin(), bytes.end()}});
  const Courier::Fate fate = courier_->fate();
  return ask(link, {.act =
                        [box = link->to, letter, sent, times = fate.times] {
                          {
                            const std::scoped_lock lock(box->guard);
                            for (int time = 0; time < times && !box->closed; ++time) box->letters.push_back(*letter);
                          }
                          box->changed->notify_all();
                          return sent;
                        },
                    .late = fate.late});
}

Status SimEndpoint::post_recv(std::span<std::byte> room, std::uint64_t cookie) {
  rooms_.push_back({room, cookie});
  return {};
}

std::unique_ptr<Region> SimEndpoint::share(std::shared_ptr<Memory> memory) {
  const std::string key = concat("r", regions_++);
  {
    const std::scoped_lock lock(own_->guard);
    own_->memory[key] = memory;
  }
  return std::make_unique<SimRegion>(std::move(memory), key, own_);
}

Result<std::unique_ptr<Region>> SimEndpoint::allocate(std::size_t bytes) {
  constexpr std::size_t line = 64;
  auto memory = std::make_shared<Memory>();
  memory->made = std::make_unique<std::byte[]>(bytes + line);
  void* begin = memory->made.get();
  std::size_t room = bytes + line;
  std::align(line, bytes, begin, room);
  memory->bytes = {static_cast<std::byte*>(begin), bytes};
  return share(std::move(memory));
}

Result<std::unique_ptr<Region>> SimEndpoint::register_memory(std::span<std::byte> bytes) {
  auto memory = std::make_shared<Memory>();
  memory->bytes = bytes;
  return share(std::move(memory));
}

Status SimEndpoint::put(PeerId id, std::span<const std::byte> from, std::string_view key, std::uint64_t offset,
                        std::uint64_t cookie) {
  DLHOST_ASSIGN(auto link, link_to(id));
  const Part part{link->to, std::string(key), offset, from.size()};
  DLHOST_TRY(part.is_there());
  const Completion done{.kind = Completion::Kind::put, .peer = id, .cookie = cookie, .bytes = from.size()};
  return ask(std::move(link), {[part, bytes = std::vector(from.begin(), from.end()), done] {
               part.use([&](std::span<std::byte> there) { std::copy(bytes.begin(), bytes.end(), there.begin()); })
                   .ignore(gone);
               return done;
             }});
}

Status SimEndpoint::get(PeerId id, std::span<std::byte> into, std::string_view key, std::uint64_t offset,
                        std::uint64_t cookie) {
  DLHOST_ASSIGN(auto link, link_to(id));
  const Part part{link->to, std::string(key), offset, into.size()};
  DLHOST_TRY(part.is_there());
  const Completion done{.kind = Completion::Kind::got, .peer = id, .cookie = cookie, .bytes = into.size()};
  return ask(std::move(link),
             {.act =
                  [part, into, done] {
                    part.use([&](std::span<std::byte> there) { std::copy(there.begin(), there.end(), into.begin()); })
                        .ignore(gone);
                    return done;
                  },
              .needs_owner = true});
}

Result<std::unique_ptr<Region>> SimEndpoint::map(PeerId id, std::string_view key) {
  DLHOST_ASSIGN(const auto link, link_to(id));
  const std::scoped_lock lock(link->to->guard);
  DLHOST_ASSIGN(auto memory, memory_of(*link->to, key));
  return std::unique_ptr<Region>(std::make_unique<SimRegion>(std::move(memory), std::string(key), nullptr));
}

void SimEndpoint::receive() {
  const std::scoped_lock lock(own_->guard);
  while (!rooms_.empty() && !own_->letters.empty()) {
    const Letter letter = std::move(own_->letters.front());
    own_->letters.pop_front();
    const PeerId peer = known(letter.from);
    if (peers_[peer].told_gone) continue;
    const Room room = rooms_.front();
    rooms_.pop_front();
    std::copy_n(letter.bytes.begin(), std::min(letter.bytes.size(), room.bytes.size()), room.bytes.begin());
    own_->done.push_back({Completion::Kind::received, peer, room.cookie, letter.tag, letter.bytes.size()});
  }
}

// Reports an ended peer after its messages.
void SimEndpoint::look_for_the_dead() {
  const Nanoseconds now = host_.clock().now();
  for (Peer& peer : peers_) {
    if (!peer.link || peer.told_gone) continue;
    Box& box = *peer.link->to;
    std::optional<Nanoseconds> ended;
    {
      const std::scoped_lock lock(box.guard);
      ended = box.closed;
    }
    if (peer.link->is_cut(now)) ended = std::min(ended.value_or(now), *peer.link->cut);
    if (!ended || now < *ended + weather_.notice) continue;
    courier_->forget(peer.link->peer); // before the lock, which the courier takes inside its own
    const std::scoped_lock lock(own_->guard);
    if (std::ranges::find(own_->letters, peer.link->to, &Letter::from) != own_->letters.end()) continue;
    peer.told_gone = true;
    own_->done.push_back({.kind = Completion::Kind::gone, .peer = peer.link->peer});
  }
}

std::size_t SimEndpoint::hand_out(std::span<Completion> out) {
  receive();
  look_for_the_dead();
  const std::scoped_lock lock(own_->guard);
  const std::size_t count = std::min(out.size(), own_->done.size());
  std::copy_n(own_->done.begin(), count, out.begin());
  own_->done.erase(own_->done.begin(), own_->done.begin() + static_cast<std::ptrdiff_t>(count));
  return count;
}

Result<std::size_t> SimEndpoint::progress(std::span<Completion> out, Nanoseconds limit) {
  if (out.empty()) return Status::invalid("progress() needs room for a completion");
  const Nanoseconds begin = host_.clock().now();
  for (Nanoseconds waited = 0;; waited = host_.clock().now() - begin) {
    const std::uint64_t ticket = own_->changed->ticket();
    if (const std::size_t count = hand_out(out)) return count;
    {
      const std::scoped_lock lock(own_->guard);
      if (std::exchange(own_->woken, false)) return std::size_t{0};
    }
    if (waited > 0 && waited >= limit) return std::size_t{0};
    own_->changed->wait(ticket, std::min(limit - waited, look_for_dead));
  }
}

void SimEndpoint::wake() {
  {
    const std::scoped_lock lock(own_->guard);
    own_->woken = true;
  }
  own_->changed->notify_all();
}

} // namespace dlhost::plugins::sim
