// An address to listen on or to call: host and port.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

#include <dlhost/host.h>
#include <dlhost/status.h>

namespace dlhost::plugins::meeting {

struct Where {
  std::string host;
  std::uint16_t port = 0;

  // "10.0.0.1:4242", "[fe80::1]:4242". A host may be a name; its first address is used.
  static Result<Where> find(std::string_view text);
  std::string text() const;
  // A socket address; `size`: its used bytes.
  struct Place {
    sockaddr_storage bytes{};
    socklen_t size = 0;
  };
  Result<Place> place() const;
};

// This machine's address in a network such as "10.0.0.0/8"; a plain address is a network of one.
Result<std::string> own_address_in(const std::string& network);

} // namespace dlhost::plugins::meeting
