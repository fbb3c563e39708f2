#include "param/message/encrypted_endpoint.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <sodium.h>

#include "env/secret.h"
#include "param/message/growing_queue.h"

namespace dlhost::param {
namespace {

constexpr std::size_t frames = 64, slots = 64;
constexpr std::size_t largest_key = 64;                          // as transports promise
constexpr std::size_t most_on_their_way = std::size_t{64} << 20; // bytes of puts, beside the first
constexpr char purpose[] = "dlhost sealed endpoints 1";

// Which of its kinds a cookie of the transport's is, and which of these.
enum class Of : std::uint8_t { slot, frame, put };
constexpr int kind_shift = 56;
constexpr std::uint64_t cookie_of(Of kind, std::size_t which) {
  return std::uint64_t{static_cast<std::uint8_t>(kind)} << kind_shift | which;
}

const unsigned char* raw(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* room(std::span<std::byte> bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }
const unsigned char* raw(const std::string& text) { return reinterpret_cast<const unsigned char*>(text.data()); }

// Numbers and bytes one behind the other, and back; those of other machines are of the same order here.
class Writer {
 public:
  explicit Writer(std::span<std::byte> room) : room_(room) {}
  void number(std::uint64_t value) { bytes(std::as_bytes(std::span(&value, 1))); }
  void bytes(std::span<const std::byte> part) {
    std::copy(part.begin(), part.end(), room_.subspan(at_).begin());
    at_ += part.size();
  }
  std::span<const std::byte> written() const { return room_.first(at_); }

 private:
  std::span<std::byte> room_;
  std::size_t at_ = 0;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> text) : text_(text) {}
  std::optional<std::uint64_t> number() {
    std::uint64_t value = 0;
    const auto part = bytes(sizeof value);
    if (!part) return {};
    std::memcpy(&value, part->data(), sizeof value);
    return value;
  }
  std::optional<std::span<const std::byte>> bytes(std::size_t count) {
    if (count > text_.size()) return {};
    const auto part = text_.first(count);
    text_ = text_.subspan(count);
    return part;
  }
  std::span<const std::byte> rest() const { return text_; }

 private:
  std::span<const std::byte> text_;
};

// Where nobody hands over the job's secret, its endpoints are of this process.
std::span<const std::byte> secret_of_process() {
  static const env::Secret secret = env::draw_secret();
  return std::as_bytes(std::span(secret));
}

} // namespace

// What peers put into lies beside it, and what they mean is opened into it.
class EncryptedEndpoint::Opened final : public Region {
 public:
  Opened(std::shared_ptr<Memory> memory, std::unique_ptr<Region> sealed, std::span<std::byte> plain,
         std::vector<std::byte> own)
      : memory_(std::move(memory)), sealed_(std::move(sealed)), own_(std::move(own)),
        plain_(own_.empty() ? plain : std::span(own_)) {
    (*memory_)[sealed_->key()] = {sealed_->bytes(), plain_};
  }
  ~Opened() override { memory_->erase(sealed_->key()); }
  std::span<std::byte> bytes() override { return plain_; }
  std::string key() const override { return sealed_->key(); }

 private:
  const std::shared_ptr<Memory> memory_;
  std::unique_ptr<Region> sealed_;
  std::vector<std::byte> own_;
  std::span<std::byte> plain_;
};

EncryptedEndpoint::EncryptedEndpoint(Host& host, std::unique_ptr<Endpoint> inner, What what)
    : host_(host), what_(what), self_(inner->address()), slots_(slots), frames_(frames), inner_done_(frames),
      inner_(std::move(inner)) {
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) free_slots_.push_back(slot);
}

EncryptedEndpoint::~EncryptedEndpoint() {
  if (dropped_ > 1) // of the first it was told at once
    host_.log().write(LogLevel::warning,
                      concat(dropped_, " messages were dropped that no member of this job has sealed "
                                       "for this one, or that came before"));
  sodium_memzero(key_.data(), key_.size());
}

Result<std::unique_ptr<Endpoint>> EncryptedEndpoint::around(Host& host, std::unique_ptr<Endpoint> inner,
                                                            std::span<const std::byte> secret, What what) {
  if (sodium_init() < 0) return Status::internal("libsodium does not start");
  static_assert(nonce_bytes == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES &&
                seal_bytes == crypto_aead_xchacha20poly1305_ietf_ABYTES);
  std::unique_ptr<EncryptedEndpoint> made(new EncryptedEndpoint(host, std::move(inner), what));
  if (secret.empty()) secret = secret_of_process();
  crypto_generichash(made->key_.data(), made->key_.size(), reinterpret_cast<const unsigned char*>(purpose),
                     sizeof purpose - 1, raw(secret),
                     std::min<std::size_t>(secret.size(), crypto_generichash_KEYBYTES_MAX));
  const env::Secret drawn = env::draw_secret();
  std::copy_n(drawn.begin(), id_bytes, made->id_.begin());
  for (std::size_t frame = 0; frame < frames; ++frame)
    DLHOST_TRY(made->inner_->post_recv(made->frames_[frame], cookie_of(Of::frame, frame)));
  return std::unique_ptr<Endpoint>(std::move(made));
}

EncryptedEndpoint::Peer& EncryptedEndpoint::peer_of(PeerId peer) {
  if (peer >= peers_.size()) peers_.resize(peer + 1);
  return peers_[peer];
}

Result<PeerId> EncryptedEndpoint::connect(std::string_view address) {
  DLHOST_ASSIGN(const PeerId peer, inner_->connect(address));
  peer_of(peer).address = address;
  return peer;
}

void EncryptedEndpoint::disconnect(PeerId peer) {
  inner_->disconnect(peer);
  drop(peer);
  peer_of(peer) = {};
}

EncryptedEndpoint::Nonce EncryptedEndpoint::next_nonce() {
  Nonce nonce{};
  std::copy(id_.begin(), id_.end(), nonce.begin());
  ++count_;
  std::memcpy(nonce.data() + id_bytes, &count_, sizeof count_);
  return nonce;
}

Status EncryptedEndpoint::post_send(PeerId peer, std::uint64_t tag, std::span<const std::byte> bytes,
                                    std::uint64_t cookie) {
  if (bytes.size() > largest_message)
    return Status::invalid("a sealed message has at most ", largest_message, " bytes, and this one ", bytes.size());
  DLHOST_TRY(send_kept()); // what waits longer goes first
  if (!kept_.empty()) return Status::timeout("there is no room for another message");
  std::array<std::byte, sizeof tag + largest_message> body;
  Writer writer(body);
  writer.number(tag);
  writer.bytes(bytes);
  return send(peer, Kind::message, writer.written(), cookie);
}

Status EncryptedEndpoint::send(PeerId peer, Kind kind, std::span<const std::byte> body,
                               std::optional<std::uint64_t> cookie) {
  const std::string& to = peer_of(peer).address;
  if (to.empty()) return Status::invalid("there is no peer ", peer);
  if (free_slots_.empty()) return Status::timeout("there is no room for another message");
  const std::uint32_t number = free_slots_.back();
  Slot& slot = slots_[number];
  slot.told = cookie.has_value();
  slot.cookie = cookie.value_or(0);
  const Nonce nonce = next_nonce();
  std::array<std::byte, 1 + sizeof(std::uint64_t) + largest_message> plain;
  Writer writer(plain);
  writer.bytes(std::as_bytes(std::span(&kind, 1)));
  writer.bytes(body);
  std::memcpy(slot.bytes.data(), nonce.data(), nonce_bytes);
  unsigned long long sealed = 0;
  crypto_aead_xchacha20poly1305_ietf_encrypt(room(std::span(slot.bytes).subspan(nonce_bytes)), &sealed,
                                             raw(writer.written()), writer.written().size(), raw(to), to.size(),
                                             nullptr, nonce.data(), key_.data());
  DLHOST_TRY(
      inner_->post_send(peer, 0, std::span(slot.bytes).first(nonce_bytes + sealed), cookie_of(Of::slot, number)));
  free_slots_.pop_back();
  return {};
}

// In their order.
Status EncryptedEndpoint::send_or_keep(PeerId peer, Kind kind, std::span<const std::byte> body) {
  if (kept_.empty()) {
    Status status = send(peer, kind, body, std::nullopt);
    if (status.code() != Code::timeout) return status;
  }
  Kept kept{.peer = peer, .body = {.kind = kind}};
  std::copy(body.begin(), body.end(), kept.body.bytes.begin());
  kept.body.count = body.size();
  append(kept_, std::move(kept));
  return {};
}

Status EncryptedEndpoint::send_kept() {
  while (!kept_.empty()) {
    const Kept& first = kept_.front();
    Status status =
        send(first.peer, first.body.kind, std::span(first.body.bytes).first(first.body.count), std::nullopt);
    if (status.code() == Code::timeout) return {};
    kept_.pop_front();
    if (!status.ok() && status.code() != Code::gone && status.code() != Code::invalid) return status;
  }
  return {};
}

Status EncryptedEndpoint::post_recv(std::span<std::byte> bytes, std::uint64_t cookie) {
  append(rooms_, Room{bytes, cookie});
  while (!arrived_.empty() && !rooms_.empty()) {
    hand_over(arrived_.front().peer, arrived_.front().body);
    arrived_.pop_front();
  }
  return {};
}

std::unique_ptr<Region> EncryptedEndpoint::opened(std::unique_ptr<Region> sealed, std::span<std::byte> plain,
                                                  std::vector<std::byte> own) {
  return std::make_unique<Opened>(memory_, std::move(sealed), plain, std::move(own));
}

Result<std::unique_ptr<Region>> EncryptedEndpoint::allocate(std::size_t bytes) {
  DLHOST_ASSIGN(auto region, inner_->allocate(bytes));
  if (what_ == What::messages) return region;
  return opened(std::move(region), {}, std::vector<std::byte>(bytes));
}

Result<std::unique_ptr<Region>> EncryptedEndpoint::register_memory(std::span<std::byte> memory) {
  if (what_ == What::messages) return inner_->register_memory(memory);
  DLHOST_ASSIGN(auto region, inner_->allocate(memory.size()));
  return opened(std::move(region), memory, {});
}

// One whose buffer is large enough, if there is one.
Result<EncryptedEndpoint::Put*> EncryptedEndpoint::free_put(std::size_t bytes) {
  Put* found = nullptr;
  for (const auto& put : puts_)
    if (put->free && (!found || (put->sealed->bytes().size() >= bytes && found->sealed->bytes().size() < bytes)))
      found = put.get();
  if (!found) found = puts_.emplace_back(std::make_unique<Put>()).get();
  if (!found->sealed || found->sealed->bytes().size() < bytes) {
    DLHOST_ASSIGN(found->sealed, inner_->allocate(bytes));
  }
  return found;
}

Status EncryptedEndpoint::put(PeerId peer, std::span<const std::byte> from, std::string_view key, std::uint64_t offset,
                              std::uint64_t cookie) {
  if (what_ == What::messages) return inner_->put(peer, from, key, offset, cookie);
  if (key.size() > largest_key) return Status::invalid("a region's key has at most ", largest_key, " bytes");
  if (put_bytes_ > 0 && put_bytes_ + from.size() > most_on_their_way) return Status::timeout("there is no room for it");
  // What is not opened yet is not to be written over.
  for (const auto& other : puts_)
    if (!other->free && other->peer == peer && other->key == key && offset < other->offset + other->bytes &&
        other->offset < offset + from.size())
      return Status::timeout("what was put there before has yet to be read");
  DLHOST_ASSIGN(Put * put, free_put(from.size()));
  const auto number = static_cast<std::size_t>(
      std::ranges::find(puts_, put, [](const auto& one) { return one.get(); }) - puts_.begin());
  const Nonce nonce = next_nonce();
  const auto sealed = put->sealed->bytes().first(from.size());
  crypto_aead_xchacha20poly1305_ietf_encrypt_detached(room(sealed), put->mac.data(), nullptr, raw(from), from.size(),
                                                      nullptr, 0, nullptr, nonce.data(), key_.data());
  DLHOST_TRY(inner_->put(peer, sealed, key, offset, cookie_of(Of::put, number)));
  put->free = put->made = put->lost = false;
  put->peer = peer;
  put->key = key;
  put->offset = offset;
  put->bytes = from.size();
  put->cookie = cookie;
  put->count = count_;
  put_bytes_ += from.size();
  return {};
}

Status EncryptedEndpoint::get(PeerId peer, std::span<std::byte> into, std::string_view key, std::uint64_t offset,
                              std::uint64_t cookie) {
  if (what_ == What::messages) return inner_->get(peer, into, key, offset, cookie);
  return Status::unsupported("memory whose content is sealed on its way is put, and not got");
}

Result<std::unique_ptr<Region>> EncryptedEndpoint::map(PeerId peer, std::string_view key) {
  if (what_ == What::messages) return inner_->map(peer, key);
  return Status::unsupported("memory whose content is sealed on its way cannot be mapped");
}

Result<std::size_t> EncryptedEndpoint::progress(std::span<Completion> done, Nanoseconds limit) {
  DLHOST_TRY(send_kept());
  DLHOST_ASSIGN(const std::size_t count, inner_->progress(inner_done_, ready_.empty() ? limit : 0));
  Status first;
  for (std::size_t c = 0; c < count; ++c) {
    Status status = take(inner_done_[c]);
    if (first.ok()) first = std::move(status);
  }
  DLHOST_TRY(std::move(first));
  std::size_t told = 0;
  for (; told < done.size() && !ready_.empty(); ready_.pop_front()) done[told++] = ready_.front();
  return told;
}

Status EncryptedEndpoint::take(const Completion& completion) {
  const std::size_t which = completion.cookie & ((std::uint64_t{1} << kind_shift) - 1);
  switch (completion.kind) {
  case Completion::Kind::received: return received(completion);
  case Completion::Kind::sent: {
    const Slot& slot = slots_.at(which);
    if (slot.told) append(ready_, Completion{.peer = completion.peer, .cookie = slot.cookie});
    free_slots_.push_back(static_cast<std::uint32_t>(which));
    return {};
  }
  case Completion::Kind::put: {
    if (what_ == What::messages) {
      append(ready_, completion);
      return {};
    }
    Put& put = *puts_.at(which);
    put.free = put.lost;
    if (put.lost) return {};
    put.made = true;
    std::array<std::byte, largest_message> body;
    Writer writer(body);
    for (const std::uint64_t number : {std::uint64_t{which}, put.count, put.offset, put.bytes}) writer.number(number);
    writer.bytes(std::as_bytes(std::span(put.mac)));
    writer.bytes(std::as_bytes(std::span(put.key)));
    Status status = send_or_keep(put.peer, Kind::unseal, writer.written());
    return status.code() == Code::gone ? Status() : status; // that is told by itself
  }
  case Completion::Kind::gone: drop(completion.peer); [[fallthrough]];
  case Completion::Kind::got: append(ready_, completion); return {};
  }
  return {};
}

// Nobody opens what was put to it.
void EncryptedEndpoint::drop(PeerId peer) {
  for (const auto& put : puts_)
    if (!put->free && !put->lost && put->peer == peer) {
      put->lost = true;
      put->free = put->made; // else the transport reads it still
      put_bytes_ -= put->bytes;
    }
}

Status EncryptedEndpoint::received(const Completion& completion) {
  const std::size_t which = completion.cookie & ((std::uint64_t{1} << kind_shift) - 1);
  Frame& frame = frames_.at(which);
  const auto body = open(completion.peer, std::span(frame).first(std::min(completion.bytes, frame.size())));
  DLHOST_TRY(inner_->post_recv(frame, completion.cookie));
  if (body) return deal_with(completion.peer, *body);
  if (dropped_++ == 0)
    host_.log().write(LogLevel::warning,
                      "a message came that no member of this job has sealed for this one, or that came "
                      "before: it is dropped, and those that follow it are counted");
  return {};
}

std::optional<EncryptedEndpoint::Body> EncryptedEndpoint::open(PeerId from, std::span<const std::byte> frame) {
  if (frame.size() < nonce_bytes + 1 + seal_bytes) return {};
  Nonce nonce;
  std::memcpy(nonce.data(), frame.data(), nonce.size());
  std::array<std::byte, frame_bytes> plain;
  unsigned long long bytes = 0;
  const auto sealed = frame.subspan(nonce_bytes);
  if (crypto_aead_xchacha20poly1305_ietf_decrypt(room(plain), &bytes, nullptr, raw(sealed), sealed.size(), raw(self_),
                                                 self_.size(), nonce.data(), key_.data()) != 0)
    return {};
  std::array<unsigned char, id_bytes> id;
  std::uint64_t count = 0;
  std::memcpy(id.data(), nonce.data(), id.size());
  std::memcpy(&count, nonce.data() + id_bytes, sizeof count);
  Peer& peer = peer_of(from);
  if (!peer.id) peer.id = id;
  if (*peer.id != id || count <= peer.counted) return {};
  peer.counted = count;
  Body body;
  body.kind = static_cast<Kind>(plain[0]);
  body.count = static_cast<std::size_t>(bytes) - 1;
  if (body.count > body.bytes.size()) return {};
  std::copy_n(plain.begin() + 1, body.count, body.bytes.begin());
  return body;
}

Status EncryptedEndpoint::deal_with(PeerId from, const Body& body) {
  const auto bytes = std::span(body.bytes).first(body.count);
  switch (body.kind) {
  case Kind::message:
    if (rooms_.empty())
      append(arrived_, Arrived{from, body});
    else
      hand_over(from, body);
    return {};
  case Kind::unseal: return unseal(from, bytes);
  case Kind::unsealed: {
    const auto number = Reader(bytes).number();
    if (!number || *number >= puts_.size()) return Status::corrupt("a peer has read a put that was never made");
    Put& put = *puts_[*number];
    if (put.free || !put.made || put.peer != from) return {}; // it was somebody's who is gone
    put.free = true;
    put_bytes_ -= put.bytes;
    append(ready_, Completion{.kind = Completion::Kind::put, .peer = from, .cookie = put.cookie});
    return {};
  }
  }
  return Status::corrupt("a peer sends frames of a kind that is not known here");
}

void EncryptedEndpoint::hand_over(PeerId from, const Body& body) {
  const Room room = rooms_.front();
  rooms_.pop_front();
  Reader reader(std::span(body.bytes).first(body.count));
  const std::uint64_t tag = reader.number().value_or(0);
  const auto message = reader.rest().first(std::min(reader.rest().size(), room.bytes.size()));
  std::copy(message.begin(), message.end(), room.bytes.begin());
  append(ready_, Completion{.kind = Completion::Kind::received,
                            .peer = from,
                            .cookie = room.cookie,
                            .tag = tag,
                            .bytes = message.size()});
}

// Its numbers come from outside.
Status EncryptedEndpoint::unseal(PeerId from, std::span<const std::byte> body) {
  const auto wrong = [&](const char* what) { return Status::corrupt("a sealed put of peer ", from, " ", what); };
  Reader reader(body);
  const auto number = reader.number(), count = reader.number(), offset = reader.number(), bytes = reader.number();
  const auto mac = reader.bytes(seal_bytes);
  if (!mac) return wrong("is cut off");
  const std::string_view key(reinterpret_cast<const char*>(reader.rest().data()), reader.rest().size());
  const auto found = memory_->find(key);
  if (found == memory_->end()) return {}; // it was for memory that is gone
  const auto& [sealed, plain] = found->second;
  if (*offset > sealed.size() || *bytes > sealed.size() - *offset)
    return wrong("goes beyond the memory that it is for");
  Nonce nonce{};
  const auto& id = *peer_of(from).id;
  std::copy(id.begin(), id.end(), nonce.begin());
  std::memcpy(nonce.data() + id_bytes, &*count, sizeof *count);
  const auto where = sealed.subspan(*offset, *bytes);
  if (crypto_aead_xchacha20poly1305_ietf_decrypt_detached(room(plain.subspan(*offset, *bytes)), nullptr, raw(where),
                                                          where.size(), raw(*mac), nullptr, 0, nonce.data(),
                                                          key_.data()) != 0)
    return wrong("has been changed on its way");
  return send_or_keep(from, Kind::unsealed, std::as_bytes(std::span(&*number, 1)));
}

} // namespace dlhost::param
