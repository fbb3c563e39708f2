#include "door.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace dlhost::plugins::fabric {
namespace {

constexpr std::size_t most_callers = 128;             // that have not shown that they know the secret
constexpr Nanoseconds time_to_show = 5'000'000'000;   // which they are given
constexpr Nanoseconds between_words = 10'000'000'000; // about strangers

} // namespace

Result<Door> Door::open(const std::string& host) {
  sockaddr_storage place{};
  socklen_t size = sizeof(sockaddr_in);
  auto& four = reinterpret_cast<sockaddr_in&>(place);
  auto& six = reinterpret_cast<sockaddr_in6&>(place);
  if (inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1) {
    place.ss_family = AF_INET;
  } else if (inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) == 1) {
    place.ss_family = AF_INET6;
    size = sizeof six;
  } else {
    return Status::invalid("'", host, "' is no address to listen on");
  }
  Door door;
  door.socket_ = Socket(::socket(place.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (door.socket_.get() < 0) return Status::system(errno, "making a socket");
  if (bind(door.socket_.get(), reinterpret_cast<const sockaddr*>(&place), size) != 0 ||
      listen(door.socket_.get(), 128) != 0)
    return Status::system(errno, concat("listening on ", host));
  socklen_t length = sizeof place;
  if (getsockname(door.socket_.get(), reinterpret_cast<sockaddr*>(&place), &length) != 0)
    return Status::system(errno, "asking for a socket's port");
  door.port_ = ntohs(place.ss_family == AF_INET ? four.sin_port : six.sin6_port);
  return door;
}

std::vector<std::unique_ptr<Link>> Door::turn(Host& host, const Secret& secret, const std::string& own,
                                              Nanoseconds silence) {
  const Nanoseconds now = host.clock().now();
  for (;;) {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    Socket caller(accept4(socket_.get(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (caller.get() < 0) break;
    char name[NI_MAXHOST] = {};
    getnameinfo(reinterpret_cast<const sockaddr*>(&from), size, name, sizeof name, nullptr, 0, NI_NUMERICHOST);
    if (callers_.size() == most_callers) {
      auto one = std::ranges::find_if(callers_, [](const Caller& other) { return other.link->is_silent(); });
      if (one == callers_.end()) one = callers_.begin();
      turn_away(host, one->from, Status::timeout("too many call at once"));
      callers_.erase(one);
    }
    new_.push_back(caller.get());
    callers_.push_back({Link::answer(std::move(caller), secret, own, silence), name, now + time_to_show});
  }
  std::vector<std::unique_ptr<Link>> known;
  for (std::size_t i = 0; i < callers_.size();) {
    Caller& caller = callers_[i];
    Status status = caller.link->turn();
    if (status.ok() && !caller.link->has_proof() && now > caller.until)
      status = Status::timeout("it has not shown for a while that it knows this job's secret");
    if (status.ok() && !caller.link->has_proof()) {
      ++i;
      continue;
    }
    if (status.ok())
      known.push_back(std::move(caller.link));
    else
      turn_away(host, caller.from, status);
    callers_.erase(callers_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return known;
}

// Of many, few are told of.
void Door::turn_away(Host& host, const std::string& from, const Status& why) {
  ++strangers_;
  const Nanoseconds now = host.clock().now();
  if (told_ != 0 && now < told_ + between_words) return;
  told_ = now;
  host.log().write(LogLevel::warning, concat("fabric: a caller from ", from, " was turned away: ", why.message(), "; ",
                                             strangers_, " so far"));
}

} // namespace dlhost::plugins::fabric
