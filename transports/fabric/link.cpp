#include "link.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace dlhost::plugins::fabric {
namespace {

constexpr std::size_t goodbye_bytes = 8;

void set(int socket, int level, int option, int value) { setsockopt(socket, level, option, &value, sizeof value); }

// A machine that is cut off says nothing, and the kernel asks it whether it is there.
void watch(int socket, Nanoseconds silence) {
  const int seconds = std::max(1, static_cast<int>(silence / 1'000'000'000));
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, seconds);
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, seconds * 1000);
}

Status broken(int error) {
  if (error == ECONNRESET || error == EPIPE) return Status::gone("it has ended");
  if (error == ETIMEDOUT || error == EHOSTUNREACH)
    return Status::timeout("nothing has come from its machine for as long as `silence` allows: the machine is gone, or "
                           "the link to it cut");
  return Status::system(error, "the connection broke");
}

} // namespace

Socket::~Socket() {
  if (number_ >= 0) close(number_);
}

Result<std::unique_ptr<Link>> Link::call(const Secret& secret, const std::string& own, const Address& to,
                                         Nanoseconds silence) {
  sockaddr_storage place{};
  socklen_t size = sizeof(sockaddr_in);
  if (to.host.find(':') == std::string::npos) {
    auto& four = reinterpret_cast<sockaddr_in&>(place);
    four.sin_family = AF_INET;
    four.sin_port = htons(to.port);
    inet_pton(AF_INET, to.host.c_str(), &four.sin_addr);
  } else {
    auto& six = reinterpret_cast<sockaddr_in6&>(place);
    size = sizeof six;
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(to.port);
    inet_pton(AF_INET6, to.host.c_str(), &six.sin6_addr);
  }
  Socket socket(::socket(place.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return Status::system(errno, "making a socket");
  watch(socket.get(), silence);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&place), size) != 0 && errno != EINPROGRESS)
    return Status::system(errno, concat("calling ", to.host, ":", to.port));
  std::unique_ptr<Link> link(new Link(std::move(socket), Handshake::call(secret, own, to.text())));
  link->out_ = link->handshake_.begin();
  return link;
}

std::unique_ptr<Link> Link::answer(Socket socket, const Secret& secret, const std::string& own, Nanoseconds silence) {
  watch(socket.get(), silence);
  return std::unique_ptr<Link>(new Link(std::move(socket), Handshake::answer(secret, own)));
}

Status Link::turn() {
  Status received = receive(); // what came before its end counts
  Status sent = send();
  return received.ok() ? std::move(sent) : std::move(received); // the first tells why
}

Status Link::send() {
  while (!out_.empty()) {
    const ssize_t gone = ::send(socket_.get(), out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (gone < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
    if (gone < 0 && errno != EINTR) return broken(errno);
    if (gone > 0) out_.erase(0, static_cast<std::size_t>(gone));
  }
  return {};
}

Status Link::receive() {
  for (;;) {
    char bytes[1024];
    const ssize_t come = recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (come == 0) return Status::gone("it has ended");
    if (come < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
    if (come < 0 && errno == EINTR) continue;
    if (come < 0) return broken(errno);
    const std::span<const char> heard(bytes, static_cast<std::size_t>(come));
    if (!has_met()) {
      DLHOST_TRY(handshake_.take(heard, out_));
      continue;
    }
    last_.append(heard.data(), heard.size());
    if (last_.size() > goodbye_bytes) return Status::corrupt("it says more than a goodbye");
    if (last_.size() < goodbye_bytes) continue;
    std::uint64_t messages = 0;
    for (std::size_t i = 0; i < goodbye_bytes; ++i)
      messages |= std::uint64_t{static_cast<unsigned char>(last_[i])} << (8 * i);
    goodbye_ = messages;
  }
}

void Link::say_goodbye(std::uint64_t messages) {
  for (std::size_t i = 0; i < goodbye_bytes; ++i) out_ += static_cast<char>(messages >> (8 * i) & 0xFF);
}

} // namespace dlhost::plugins::fabric
