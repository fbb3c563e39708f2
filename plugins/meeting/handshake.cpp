#include "handshake.h"

#include <cstring>
#include <utility>

#include <sodium.h>

namespace dlhost::plugins::meeting {
namespace {

constexpr std::size_t nonce_bytes = 32, seal_bytes = crypto_auth_BYTES, ticket_bytes = 8;

void append(std::string& to, std::uint32_t number) {
  for (int i = 0; i < 4; ++i) to += static_cast<char>(number >> (8 * i) & 0xFF);
}
std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number |= std::uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return number;
}

} // namespace

Handshake::Handshake(std::string_view protocol, const Secret& secret, std::string own, std::string theirs, At at)
    : secret_(secret), magic_(concat("dlhost-", protocol, "-1\n")), own_(std::move(own)), theirs_(std::move(theirs)),
      calls_(at == At::challenge), at_(at) {
  randombytes_buf(ours_.data(), ours_.size());
}

Handshake Handshake::call(std::string_view protocol, const Secret& secret, std::string own, std::string theirs) {
  return {protocol, secret, std::move(own), std::move(theirs), At::challenge};
}

Handshake Handshake::answer(std::string_view protocol, const Secret& secret, std::string own) {
  return {protocol, secret, std::move(own), {}, At::hello};
}

std::string Handshake::begin() {
  std::string hello(magic_);
  hello.append(ours_.data(), ours_.size());
  append(hello, static_cast<std::uint32_t>(own_.size()));
  return hello + own_;
}

std::string Handshake::seal(std::string_view what, std::string_view more) const {
  const std::string &caller = calls_ ? own_ : theirs_, &callee = calls_ ? theirs_ : own_;
  const Nonce &first = calls_ ? ours_ : nonce_, &second = calls_ ? nonce_ : ours_;
  std::string said(magic_);
  for (const std::string_view one :
       {what, std::string_view(first.data(), first.size()), std::string_view(second.data(), second.size()),
        std::string_view(caller), std::string_view(callee), more}) {
    append(said, static_cast<std::uint32_t>(one.size()));
    said += one;
  }
  std::string seal(seal_bytes, '\0');
  crypto_auth(reinterpret_cast<unsigned char*>(seal.data()), reinterpret_cast<const unsigned char*>(said.data()),
              said.size(), secret_.data());
  return seal;
}

Key Handshake::key(std::string_view purpose) const {
  const std::string sealed = seal("key", purpose);
  Key key;
  static_assert(seal_bytes == std::tuple_size_v<Key>);
  std::memcpy(key.data(), sealed.data(), key.size());
  return key;
}

Status Handshake::matches(std::string_view said, const std::string& seal) const {
  if (sodium_memcmp(said.data(), seal.data(), seal.size()) == 0) return {};
  return Status::corrupt("it does not know this job's secret");
}

std::string Handshake::next(std::size_t bytes) {
  std::string taken = heard_.substr(0, bytes);
  heard_.erase(0, bytes);
  return taken;
}

Status Handshake::take(std::span<const char> bytes, std::string& out) {
  heard_.append(bytes.data(), bytes.size());
  for (;;) {
    DLHOST_ASSIGN(const bool stepped, step(out));
    if (!stepped) return {};
  }
}

Result<bool> Handshake::step(std::string& out) {
  switch (at_) {
  case At::hello: {
    const std::size_t known = std::min(heard_.size(), magic_.size());
    if (heard_.compare(0, known, magic_, 0, known) != 0) return Status::corrupt("it does not speak this protocol");
    const std::size_t head = magic_.size() + nonce_bytes + 4;
    if (!has(head)) return false;
    const std::uint32_t length = number_at(heard_, head - 4);
    if (length > longest_name) return Status::corrupt("it announces a name of ", length, " bytes");
    if (!has(head + length)) return false;
    const std::string hello = next(head + length);
    std::memcpy(nonce_.data(), hello.data() + magic_.size(), nonce_bytes);
    theirs_ = hello.substr(head);
    out.append(ours_.data(), ours_.size());
    out += seal("callee");
    at_ = At::proof;
    return true;
  }
  case At::challenge: {
    if (!has(nonce_bytes + seal_bytes)) return false;
    const std::string challenge = next(nonce_bytes + seal_bytes);
    std::memcpy(nonce_.data(), challenge.data(), nonce_bytes);
    DLHOST_TRY(matches(std::string_view(challenge).substr(nonce_bytes), seal("callee")));
    out += seal("caller");
    at_ = At::welcome;
    return true;
  }
  case At::proof: {
    if (!has(seal_bytes)) return false;
    DLHOST_TRY(matches(next(seal_bytes), seal("caller")));
    at_ = At::proven;
    return true;
  }
  case At::welcome: {
    if (!has(ticket_bytes + seal_bytes)) return false;
    const std::string welcome = next(ticket_bytes + seal_bytes);
    const std::string_view ticket = std::string_view(welcome).substr(0, ticket_bytes);
    DLHOST_TRY(matches(std::string_view(welcome).substr(ticket_bytes), seal("welcome", ticket)));
    ticket_ = {number_at(ticket, 0), number_at(ticket, 4)};
    at_ = At::done;
    return true;
  }
  default: return false;
  }
}

void Handshake::welcome(const Ticket& ticket, std::string& out) {
  ticket_ = ticket;
  std::string bytes;
  append(bytes, ticket.number);
  append(bytes, ticket.token);
  out += bytes + seal("welcome", bytes);
  at_ = At::done;
}

} // namespace dlhost::plugins::meeting
