#include "channel.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

namespace dlhost::bench {

namespace {

constexpr int patience_ms = 60'000;
constexpr const char* usual_port = "4242";

[[noreturn]] void fail(const std::string& doing, const std::string& why = std::strerror(errno)) {
  throw std::runtime_error(doing + ": " + why);
}

using Found = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;
Found addresses_of(const Place& place, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* list = nullptr;
  if (const int code = getaddrinfo(place.host.c_str(), place.port.c_str(), &hints, &list); code != 0)
    fail(place.host, gai_strerror(code));
  return {list, &freeaddrinfo};
}

} // namespace

Channel::Channel(Channel&& other) noexcept : from_(std::exchange(other.from_, -1)), to_(std::exchange(other.to_, -1)) {}

Channel::~Channel() {
  if (from_ >= 0) close(from_);
  if (to_ >= 0 && to_ != from_) close(to_);
}

void Channel::say(const std::string& text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += text;
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t more = write(to_, bytes.data() + at, bytes.size() - at);
    if (more <= 0) throw std::runtime_error("the other side is gone");
    at += static_cast<std::size_t>(more);
  }
}

std::string Channel::hear() {
  const auto take = [&](char* into, std::size_t size) {
    for (std::size_t at = 0; at < size;) {
      pollfd file{from_, POLLIN, 0};
      if (poll(&file, 1, patience_ms) <= 0) throw std::runtime_error("the other side says nothing");
      const ssize_t more = read(from_, into + at, size - at);
      if (more <= 0) throw std::runtime_error("the other side is gone");
      at += static_cast<std::size_t>(more);
    }
  };
  std::uint32_t size = 0;
  take(reinterpret_cast<char*>(&size), sizeof size);
  if (size > 4096) throw std::runtime_error("the other side speaks of something else");
  std::string text(size, '\0');
  take(text.data(), size);
  return text;
}

std::string Channel::own_address() const {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  char name[NI_MAXHOST] = {};
  if (getsockname(from_, reinterpret_cast<sockaddr*>(&own), &size) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr*>(&own), size, name, sizeof name, nullptr, 0, NI_NUMERICHOST) != 0)
    fail("asking for this side's address");
  return name;
}

Place place_of(const std::string& text) {
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == text.npos) fail(text, "is no address; such as [fd00::1]:4000");
    return {text.substr(1, end - 1), text.substr(end + 1).starts_with(':') ? text.substr(end + 2) : usual_port};
  }
  const auto colon = text.find(':');
  if (colon == text.npos || text.find(':', colon + 1) != text.npos) return {text, usual_port};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

Listener::Listener(const Place& place) : socket_(-1) {
  const Found found = addresses_of(place, AI_PASSIVE);
  socket_ = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  if (socket_ >= 0) setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (socket_ < 0 || bind(socket_, found->ai_addr, found->ai_addrlen) != 0 || listen(socket_, 4) != 0)
    fail("listening on " + place.host + ", port " + place.port);
}

Listener::~Listener() {
  if (socket_ >= 0) close(socket_);
}

Channel Listener::accept(int seconds) {
  pollfd file{socket_, POLLIN, 0};
  if (poll(&file, 1, seconds * 1000) <= 0) throw std::runtime_error("nobody calls any more");
  const int caller = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
  if (caller < 0) fail("taking a call");
  return {caller, caller};
}

Channel call(const Place& place) {
  const Found found = addresses_of(place, 0);
  for (int tries = 0;; ++tries) {
    const int caller = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (caller >= 0 && connect(caller, found->ai_addr, found->ai_addrlen) == 0) return {caller, caller};
    const int why = errno;
    if (caller >= 0) close(caller);
    if (tries == 50) fail("calling " + place.host + ", port " + place.port, std::strerror(why));
    poll(nullptr, 0, 100);
  }
}

} // namespace dlhost::bench
