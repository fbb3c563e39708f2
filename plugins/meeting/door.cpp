#include "door.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace dlhost::plugins::meeting {
namespace {

constexpr std::size_t most_callers = 128;             // without proof of the secret so far
constexpr Nanoseconds time_to_show = 5'000'000'000;   // to prove it
constexpr Nanoseconds between_words = 10'000'000'000; // about strangers

// accept() allocates a file before it checks for a connection. poll() is several times cheaper in the usual case of
// none.
bool somebody_calls(int socket) {
  pollfd file{socket, POLLIN, 0};
  return ::poll(&file, 1, 0) > 0;
}

} // namespace

Result<Door> Door::open(const Where& where) {
  DLHOST_ASSIGN(Where::Place place, where.place());
  auto* const address = reinterpret_cast<sockaddr*>(&place.bytes);
  Door door;
  door.socket_ = Socket(::socket(place.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (door.socket_.get() < 0) return Status::system(errno, "making a socket");
  const int yes = 1; // reuse a port that was closed just now
  setsockopt(door.socket_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(door.socket_.get(), address, place.size) != 0 || listen(door.socket_.get(), 128) != 0)
    return Status::system(errno, concat("listening on ", where.text()));
  socklen_t length = sizeof place.bytes;
  if (getsockname(door.socket_.get(), address, &length) != 0)
    return Status::system(errno, "asking for a socket's port");
  door.port_ = ntohs(place.bytes.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(place.bytes).sin_port
                                                      : reinterpret_cast<sockaddr_in6&>(place.bytes).sin6_port);
  return door;
}

std::vector<std::unique_ptr<Link>> Door::turn(Host& host, const Terms& terms) {
  const Nanoseconds now = host.clock().now();
  while (somebody_calls(socket_.get())) {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    Socket caller(accept4(socket_.get(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (caller.get() < 0) break;
    char name[NI_MAXHOST] = {};
    getnameinfo(reinterpret_cast<const sockaddr*>(&from), size, name, sizeof name, nullptr, 0, NI_NUMERICHOST);
    if (callers_.size() == most_callers) {
      auto one = std::ranges::find_if(callers_, [](const Caller& other) { return other.link->is_silent(); });
      if (one == callers_.end()) one = callers_.begin();
      turn_away(host, terms, one->from, Status::timeout("too many callers at once"));
      callers_.erase(one);
    }
    new_.push_back(caller.get());
    callers_.push_back({Link::answer(std::move(caller), terms), name, now + time_to_show});
  }
  std::vector<std::unique_ptr<Link>> known;
  for (std::size_t i = 0; i < callers_.size();) {
    Caller& caller = callers_[i];
    Status status = caller.link->turn();
    if (status.ok() && !caller.link->has_proof() && now > caller.until)
      status = Status::timeout("it has not proved in time that it knows this job's secret");
    if (status.ok() && !caller.link->has_proof()) {
      ++i;
      continue;
    }
    if (status.ok())
      known.push_back(std::move(caller.link));
    else
      turn_away(host, terms, caller.from, status);
    callers_.erase(callers_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return known;
}

// Logs a few of many.
void Door::turn_away(Host& host, const Terms& terms, const std::string& from, const Status& why) {
  ++strangers_;
  const Nanoseconds now = host.clock().now();
  if (told_ != 0 && now < told_ + between_words) return;
  told_ = now;
  host.log().write(LogLevel::warning, concat(terms.protocol, ": a caller from ", from,
                                             " was turned away: ", why.message(), "; ", strangers_, " so far"));
}

} // namespace dlhost::plugins::meeting
