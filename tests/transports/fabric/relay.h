// Passes bytes between two wires of a provider over sockets, and may change them on the way. So a stranger can speak
// libfabric's protocol with one change.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include <gmock/gmock.h>

#include "meeting/link.h"

namespace dlhost::plugins::fabric {

// The socket address that is a wire's name.
inline sockaddr_in place_of(std::string_view name) {
  sockaddr_in place{};
  EXPECT_EQ(name.size(), sizeof place);
  std::memcpy(&place, name.data(), std::min(name.size(), sizeof place));
  EXPECT_EQ(place.sin_family, AF_INET);
  return place;
}

inline meeting::Socket call(const sockaddr_in& place) {
  meeting::Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(connect(socket.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
  return socket;
}

inline void say(const meeting::Socket& to, std::string_view bytes) {
  ::send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

class Relay {
 public:
  using Change = std::function<void(std::string& bytes)>;

  // `change` changes the caller's next bytes after the first answer, its first message.
  Relay(const sockaddr_in& to, Change change)
      : to_(to), change_(std::move(change)), door_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    own_.sin_family = AF_INET;
    own_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof own_;
    EXPECT_EQ(bind(door_.get(), reinterpret_cast<const sockaddr*>(&own_), size), 0);
    EXPECT_EQ(listen(door_.get(), 1), 0);
    EXPECT_EQ(getsockname(door_.get(), reinterpret_cast<sockaddr*>(&own_), &size), 0);
  }

  // A peer's name, as a wire expects it.
  std::string name() const { return {reinterpret_cast<const char*>(&own_), sizeof own_}; }
  bool changed() const { return changed_; }

  void turn() {
    if (caller_.get() < 0) {
      caller_ = meeting::Socket(accept4(door_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (caller_.get() < 0) return;
      callee_ = call(to_);
    }
    std::string bytes = heard(caller_);
    if (answered_ && !changed_ && !bytes.empty()) {
      change_(bytes);
      changed_ = true;
    }
    say(callee_, bytes);
    bytes = heard(callee_);
    answered_ |= !bytes.empty();
    say(caller_, bytes);
  }

 private:
  static std::string heard(const meeting::Socket& from) {
    char bytes[1 << 16];
    const ssize_t come = recv(from.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    return {bytes, static_cast<std::size_t>(std::max<ssize_t>(come, 0))};
  }

  sockaddr_in to_, own_{};
  Change change_;
  meeting::Socket door_, caller_, callee_;
  bool answered_ = false, changed_ = false;
};

} // namespace dlhost::plugins::fabric
