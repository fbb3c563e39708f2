// Where somebody listens, or is called: an address in numbers, and a port.
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

  // "10.0.0.1:4242", "[fe80::1]:4242"; a host may be a name, whose first address is taken.
  static Result<Where> find(std::string_view text);
  std::string text() const;
  // For the kernel; `size` is what of it counts.
  struct Place {
    sockaddr_storage bytes{};
    socklen_t size = 0;
  };
  Result<Place> place() const;
};

// This machine's address in a network: "10.0.0.0/8", or an address itself.
Result<std::string> own_address_in(const std::string& network);

} // namespace dlhost::plugins::meeting
