#include "param/message/post.h"

#include <algorithm>
#include <functional>

namespace dlhost::param {
namespace {

// A process that ends takes its memory with it. The key of that memory may have been received before.
template <class T> Result<T> of_living(std::uint32_t seat, Result<T> found) {
  if (found.ok() || found.status().code() != Code::not_found) return found;
  return Status::gone("worker ", seat, " has ended: ", found.status().message());
}

} // namespace

Post::Post(const Setup& setup)
    : host_(*setup.host), seat_(setup.seat), epoch_(setup.epoch), host_name_(setup.host_name),
      machines_(setup.machines), peers_(machines_.size()), sent_(machines_.size()),
      inbox_(setup.seat, setup.epoch, machines_.size()), completions_(EndpointBuffers::count) {
  for (std::size_t machine = 0; machine <= *std::ranges::max_element(machines_); ++machine) {
    const bool near = machine == machines_[seat_]; // tasks of this machine read memory in place, without puts
    ways_.push_back({.outbox = boost::circular_buffer<Outgoing>(setup.credit),
                     .puts = PutQueue(host_.clock(), near ? 0 : setup.credit, setup.under_way),
                     .of_slice = {}});
  }
}

Result<std::unique_ptr<Post>> Post::open(const Setup& setup) {
  std::unique_ptr<Post> post(new Post(setup));
  if (setup.near) {
    DLHOST_ASSIGN(post->near_, post->open_line(setup, *setup.near));
  }
  if (setup.far) {
    DLHOST_ASSIGN(post->far_, post->open_line(setup, *setup.far));
  }
  return post;
}

Result<std::unique_ptr<EndpointBuffers>> Post::open_line(const Setup& setup, Transport& transport) const {
  const bool far = &transport == setup.far;
  DLHOST_ASSIGN(auto endpoint, transport.open(*setup.host, {.name = concat("seat", seat_), .secret = setup.secret}));
  if (setup.sealed && far) {
    DLHOST_ASSIGN(endpoint, EncryptedEndpoint::around(*setup.host, std::move(endpoint), setup.secret, *setup.sealed));
  }
  return EndpointBuffers::open(std::move(endpoint), far ? bundle_bytes : message_bytes);
}

Post::Addresses Post::addresses() const {
  return {near_ ? near_->endpoint().address() : std::string(), far_ ? far_->endpoint().address() : std::string(),
          host_name_};
}

Status Post::connect(std::uint32_t seat, const Addresses& addresses) {
  const bool far = is_far(seat);
  DLHOST_ASSIGN(peers_.at(seat).id,
                of_living(seat, line_to(seat).endpoint().connect(far ? addresses.far : addresses.near)));
  peers_[seat].connected = true;
  peers_[seat].host_name = addresses.host_name;
  return {};
}

Status Post::reconnect(std::uint32_t seat, const Addresses& addresses) {
  peers_.at(seat) = {};
  sent_[seat] = 0;
  inbox_.restart(seat);
  return connect(seat, addresses);
}

Result<PeerId> Post::peer(std::uint32_t seat) const {
  if (seat >= peers_.size() || !peers_[seat].connected)
    return Status::internal("seat ", seat, " is not connected with seat ", seat_);
  return peers_[seat].id;
}

std::uint32_t Post::seat_of(PeerId id, const EndpointBuffers& line) const {
  std::uint32_t seat = 0;
  while (seat < peers_.size() && !(peers_[seat].connected && peers_[seat].id == id && &line_to(seat) == &line)) ++seat;
  return seat;
}

std::string Post::name_of(std::uint32_t seat) const {
  const std::string& host = peers_[seat].host_name;
  return host.empty() ? concat("worker ", seat) : concat("worker ", seat, " on ", host);
}

void Post::close() {
  if (stale() > 0)
    host_.log().write(
        LogLevel::warning,
        concat("worker ", seat_, " has dropped messages of another attempt of the run, which was given up: ", stale()));
  if (far_) far_->close();
  if (near_) near_->close();
}

Result<SharedMemory> Post::allocate(std::size_t bytes) {
  std::unique_ptr<Region> near, far;
  if (near_) {
    DLHOST_ASSIGN(near, near_->endpoint().allocate(bytes));
  }
  if (far_ && near) {
    DLHOST_ASSIGN(far, far_->endpoint().register_memory(near->bytes()));
  } else if (far_) {
    DLHOST_ASSIGN(far, far_->endpoint().allocate(bytes));
  }
  return SharedMemory(std::move(near), std::move(far));
}

Result<SharedMemory> Post::allocate_mirror(std::size_t bytes) {
  DLHOST_ASSIGN(auto far, far_->endpoint().allocate(bytes));
  return SharedMemory(nullptr, std::move(far));
}

Result<std::unique_ptr<Region>> Post::map(std::uint32_t seat, std::string_view key) {
  DLHOST_ASSIGN(const PeerId peer, this->peer(seat));
  return of_living(seat, near_->endpoint().map(peer, key));
}

Status Post::send(std::uint32_t seat, const Body& body, const Shown& shown) {
  MachineQueue& way = ways_[machines_.at(seat)];
  if (peers_[seat].lost) return {};
  if (way.outbox.full())
    return Status::internal("seat ", seat_, " has more messages under way than its limit (", way.outbox.capacity(),
                            ")");
  const bool encloses =
      !shown.here.empty() && shown.here.size() <= most_enclosed && !shown.there->shared && shown.there->seat == seat;
  const std::optional<SliceId> slice = is_far(seat) ? slice_of(body) : std::nullopt;
  if (slice && *slice >= way.of_slice.size()) {
    way.of_slice.resize(std::size_t{*slice} + 1);
    held_.resize(std::max(held_.size(), way.of_slice.size()));
  }
  Outgoing message_out{.seat = seat, .message = {.epoch = epoch_, .body = body}, .slice = slice};
  if (encloses) {
    message_out.enclosure = {shown.there->number, shown.offset, shown.here};
    freight_.of(shown.cargo) += shown.here.size();
  } else if (!shown.here.empty()) {
    const std::uint64_t put = add_put(way, shown, slice ? std::int64_t{*slice} : -1);
    (slice ? way.of_slice[*slice] : way.shows) = put;
  }
  if (slice)
    message_out.put = way.of_slice[*slice]; // perhaps a put that was shown with a message to another seat there
  message_out.behind = slice ? way.shows : way.puts.last();
  way.outbox.push_back(message_out);
  if (!is_far(seat)) return flush_messages(way);
  way.hurries = way.hurries || hurries(message_out);
  freight_.of(record::Cargo::control) += Bundle::bytes_of(0);
  return flush_puts(way);
}

Status Post::show(const Shown& shown) {
  if (shown.here.empty()) return {};
  MachineQueue& way = ways_[machines_.at(shown.there->seat)];
  way.shows = add_put(way, shown, -1);
  return flush_puts(way);
}

std::uint64_t Post::add_put(MachineQueue& way, const Shown& shown, std::int64_t rank) {
  freight_.of(shown.cargo) += shown.here.size();
  return way.puts.add(shown.here, *shown.there, shown.offset, rank);
}

bool Post::all_shown() const {
  return std::ranges::all_of(ways_, [](const MachineQueue& way) { return way.puts.all_done(); });
}

bool Post::all_sent() const {
  const auto idle = [](const auto& line) { return !line || line->sends_nothing(); };
  return all_shown() && idle(near_) && idle(far_) &&
         std::ranges::all_of(ways_, [](const MachineQueue& way) { return way.outbox.empty(); });
}

// True if a put or a message could be handed to a transport that had room for it.
bool Post::waits_for_room() const {
  return std::ranges::any_of(ways_, [this](const MachineQueue& way) {
    return way.puts.next() || (!way.outbox.empty() && may_go(way, way.outbox.front()));
  });
}

Status Post::flush(bool all) {
  Status first;
  for (MachineQueue& way : ways_) {
    if (!all && !way.hurries && !way.puts.is_waiting()) continue;
    Status puts = flush_puts(way), queued = flush_messages(way);
    way.hurries = std::ranges::any_of(way.outbox, hurries);
    if (first.ok()) first = puts.ok() ? std::move(queued) : std::move(puts);
  }
  return first;
}

// A put that fails counts as done, so that no message waits for it: its receiver is gone or about to go, with its
// memory.
Status Post::flush_puts(MachineQueue& way) {
  Status first;
  for (auto next = way.puts.next(); next; next = way.puts.next()) {
    const PutQueue::Put put = way.puts.waiting(*next);
    const auto peer = this->peer(put.there->seat);
    Status status = peer.ok() ? far_->endpoint().put(*peer, put.here, put.there->key, put.offset,
                                                     cookie_of(machines_[put.there->seat], put.number))
                              : std::move(peer).status();
    if (status.code() == Code::timeout) return first;
    way.puts.start(*next);
    if (status.ok()) continue;
    way.puts.finish(put.number);
    if (first.ok())
      first = Status::gone(name_of(put.there->seat), " is out of reach of worker ", seat_, ": ", status.message());
  }
  return first;
}

bool Post::may_go(const MachineQueue& way, const Outgoing& message_out) const {
  const bool in_order = far_ && far_->endpoint().puts_in_order();
  return way.puts.is_past(message_out.put, message_out.seat, in_order) &&
         way.puts.are_past(message_out.behind, message_out.seat, in_order);
}

template <class Act> void Post::each_ready(MachineQueue& way, Act act) {
  ++looks_;
  bool any_held = false;
  for (Outgoing& message_out : way.outbox) {
    if (message_out.packed) continue;
    const auto slice = message_out.slice;
    const bool held = slice ? held_[*slice] == looks_ : any_held;
    if (!held && may_go(way, message_out) && act(message_out)) continue;
    if (!slice) return; // no message overtakes it
    any_held = true;
    held_[*slice] = looks_;
  }
}

std::span<const std::byte> Post::fill(MachineQueue& way, std::span<std::byte> piece,
                                      std::optional<std::uint32_t>& seat) {
  std::array<std::byte, message_bytes> bytes{};
  if (Outgoing& first = way.outbox.front(); !is_far(first.seat)) {
    seat = first.seat;
    first.packed = true;
    first.message.sequence = sent_[first.seat];
    write(first.message, bytes);
    std::copy(bytes.begin(), bytes.end(), piece.begin());
    return piece.first(bytes.size());
  }
  Bundle bundle(piece);
  std::uint16_t number = 0;
  each_ready(way, [&](Outgoing& message_out) {
    if (!seat) {
      seat = message_out.seat;
      number = sent_[message_out.seat];
    }
    if (message_out.seat != *seat || !bundle.fits(message_out.enclosure.bytes.size())) return false;
    message_out.packed = true;
    message_out.message.sequence = number++;
    write(message_out.message, bytes);
    bundle.add(bytes, message_out.enclosure);
    return true;
  });
  return bundle.written();
}

// A message for which the transport has no room holds back the later ones. A message that cannot be sent does not,
// because the other seats must learn what happened to its receiver.
Status Post::flush_messages(MachineQueue& way) {
  Status first;
  while (!way.outbox.empty()) {
    EndpointBuffers& line = line_to(way.outbox.front().seat); // the same for all seats of a machine
    const auto number = line.free_piece();
    if (!number) return first;
    std::optional<std::uint32_t> seat;
    const auto piece = fill(way, line.piece(*number), seat);
    if (!seat) return first;
    const auto peer = this->peer(*seat);
    Status status = peer.ok() ? line.endpoint().post_send(*peer, 0, piece, *number) : std::move(peer).status();
    if (status.code() == Code::timeout) {
      for (Outgoing& message_out : way.outbox) message_out.packed = false;
      return first;
    }
    const auto left = std::remove_if(way.outbox.begin(), way.outbox.end(), std::mem_fn(&Outgoing::packed));
    const auto gone = static_cast<std::size_t>(way.outbox.end() - left);
    sent_[*seat] = static_cast<std::uint16_t>(sent_[*seat] + gone);
    way.outbox.erase_end(gone);
    if (status.ok()) {
      line.start(*number, *seat);
    } else if (first.ok() && (is_far(*seat) || status.code() != Code::gone)) { // else a completion will report it
      first = std::move(status);
    }
  }
  return first;
}

} // namespace dlhost::param
