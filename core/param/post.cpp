#include "param/post.h"

#include <algorithm>
#include <limits>

namespace dlhost::param {
namespace {

constexpr std::size_t rooms = 64;

} // namespace

Post::Post(std::uint32_t seat, std::uint32_t seats, std::size_t credit)
    : seat_(seat), peers_(seats, unconnected), sent_(seats), heard_(seats), letters_(rooms), outbox_(credit),
      rooms_(rooms), completions_(rooms) {
  for (std::uint32_t letter = 0; letter < letters_.size(); ++letter) free_.push_back(letter);
}

Result<std::unique_ptr<Post>> Post::open(Host& host, Transport& transport, std::uint32_t seat, std::uint32_t seats,
                                         std::size_t credit) {
  std::unique_ptr<Post> post(new Post(seat, seats, credit));
  DLHOST_ASSIGN(post->endpoint_, transport.open(host, {.name = concat("seat", seat)}));
  for (std::size_t room = 0; room < post->rooms_.size(); ++room)
    DLHOST_TRY(post->endpoint_->post_recv(post->rooms_[room], room));
  return post;
}

Status Post::connect(std::uint32_t seat, std::string_view address) {
  DLHOST_ASSIGN(peers_.at(seat), endpoint_->connect(address));
  return {};
}

Result<PeerId> Post::peer(std::uint32_t seat) const {
  if (seat >= peers_.size() || peers_[seat] == unconnected)
    return Status::internal("seat ", seat, " is not connected with seat ", seat_);
  return static_cast<PeerId>(peers_[seat]);
}

Status Post::send(std::uint32_t seat, Message message) {
  if (outbox_.full())
    return Status::internal("seat ", seat_, " has more messages under way than it has credit for (", outbox_.capacity(),
                            ")");
  message.seat = sent_.at(seat)++;
  Letter letter{.seat = seat};
  write(message, letter.bytes);
  outbox_.push_back(letter);
  return flush();
}

// In order: a letter that finds no room keeps back those behind it. One that cannot be sent does not: the others are to
// hear what became of its receiver.
Status Post::flush() {
  Status first;
  while (!outbox_.empty() && !free_.empty()) {
    const std::uint32_t letter = free_.back();
    letters_[letter] = outbox_.front();
    const auto peer = this->peer(letters_[letter].seat);
    Status status =
        peer.ok() ? endpoint_->post_send(*peer, 0, letters_[letter].bytes, letter) : std::move(peer).status();
    if (status.code() == Code::timeout) return first;
    outbox_.pop_front();
    if (status.ok())
      free_.pop_back();
    else if (first.ok())
      first = std::move(status);
  }
  return first;
}

// What comes beside a failure is dealt with as well: it may be the word that ends it all.
Status Post::progress(Taker& taker, Nanoseconds limit) {
  DLHOST_TRY(flush());
  DLHOST_ASSIGN(const std::size_t count, endpoint_->progress(completions_, outbox_.empty() ? limit : 0));
  Status first;
  for (std::size_t c = 0; c < count; ++c) {
    Status status = deal_with(completions_[c], taker);
    if (first.ok()) first = std::move(status);
  }
  return first;
}

Status Post::deal_with(const Completion& completion, Taker& taker) {
  switch (completion.kind) {
  case Completion::Kind::sent: free_.push_back(static_cast<std::uint32_t>(completion.cookie)); return {};
  case Completion::Kind::received: return receive(completion, taker);
  case Completion::Kind::gone: {
    const auto seat = static_cast<std::uint32_t>(std::ranges::find(peers_, completion.peer) - peers_.begin());
    gone_.push_back(seat);
    return Status::gone("worker ", seat, " is gone");
  }
  case Completion::Kind::put:
  case Completion::Kind::got: return {};
  }
  return {};
}

Status Post::receive(const Completion& completion, Taker& taker) {
  auto& room = rooms_.at(completion.cookie);
  auto message = read_message(std::span(room).first(std::min(completion.bytes, room.size())));
  DLHOST_TRY(endpoint_->post_recv(room, completion.cookie));
  DLHOST_TRY(message.status());
  const auto seat = static_cast<std::size_t>(std::ranges::find(peers_, completion.peer) - peers_.begin());
  if (seat == peers_.size()) return Status::corrupt("a message from a stranger came to seat ", seat_);
  const auto missing = static_cast<std::uint16_t>(message->seat - heard_[seat]);
  if (missing > std::numeric_limits<std::uint16_t>::max() / 2) return {}; // it comes once more
  if (missing > 0) {
    gone_.push_back(static_cast<std::uint32_t>(seat));
    return Status::gone("worker ", seat, " is out of reach: messages of it were lost on their way to worker ", seat_);
  }
  ++heard_[seat];
  message->seat = static_cast<std::uint16_t>(seat);
  return taker.take(*message);
}

} // namespace dlhost::param
