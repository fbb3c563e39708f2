#include "link.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace dlhost::plugins::meeting {
namespace {

constexpr std::size_t much = std::size_t{1} << 16; // bytes received in one turn

void set(int socket, int level, int option, int value) { setsockopt(socket, level, option, &value, sizeof value); }

// A disconnected machine sends nothing: keepalive and user timeout detect it.
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

Result<std::unique_ptr<Link>> Link::call(const Terms& terms, const Where& to, std::string theirs) {
  DLHOST_ASSIGN(const Where::Place place, to.place());
  Socket socket(::socket(place.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return Status::system(errno, "making a socket");
  watch(socket.get(), terms.silence);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&place.bytes), place.size) != 0 && errno != EINPROGRESS)
    return Status::system(errno, concat("calling ", to.text()));
  std::unique_ptr<Link> link(
      new Link(std::move(socket), Handshake::call(terms.protocol, terms.secret, terms.own, std::move(theirs))));
  link->out_ = link->handshake_.begin();
  return link;
}

std::unique_ptr<Link> Link::answer(Socket socket, const Terms& terms) {
  watch(socket.get(), terms.silence);
  return std::unique_ptr<Link>(new Link(std::move(socket), Handshake::answer(terms.protocol, terms.secret, terms.own)));
}

Status Link::turn() {
  Status received = receive(); // bytes received before the end count
  Status sent = send();
  return received.ok() ? std::move(sent) : std::move(received); // the receive error is the cause
}

Status Link::send() {
  std::size_t sent = 0;
  Status status;
  while (status.ok() && sent < out_.size()) {
    const ssize_t gone = ::send(socket_.get(), out_.data() + sent, out_.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (gone < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOTCONN)) break;
    if (gone < 0 && errno != EINTR) status = broken(errno);
    if (gone > 0) sent += static_cast<std::size_t>(gone);
  }
  out_.erase(0, sent);
  return status;
}

Status Link::receive() {
  for (std::size_t all = 0; all < much;) {
    char bytes[4096];
    const ssize_t come = recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (come == 0) return Status::gone("it has ended");
    if (come < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOTCONN)) return {};
    if (come < 0 && errno == EINTR) continue;
    if (come < 0) return broken(errno);
    const std::span<const char> part(bytes, static_cast<std::size_t>(come));
    all += part.size();
    if (has_met()) {
      heard_.append(part.data(), part.size());
      continue;
    }
    DLHOST_TRY(handshake_.take(part, out_));
    if (has_met()) heard_ = handshake_.take_rest();
  }
  return {};
}

} // namespace dlhost::plugins::meeting
