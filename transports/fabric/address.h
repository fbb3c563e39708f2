// The address of a fabric endpoint: a socket for links, and its name on the wire.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <dlhost/status.h>

#include "meeting/handshake.h"
#include "meeting/where.h"

namespace dlhost::plugins::fabric {

inline constexpr std::size_t longest_address = meeting::longest_name;

struct Address {
  std::string name;     // the endpoint's name, for people
  std::string provider; // must be the same on both sides
  std::string host;     // numeric, not a name
  std::uint16_t port = 0;
  std::string wire; // the provider's name for it: bytes

  // Parses "fabric:seat3/tcp;ofi_rxm/10.0.0.1:4242/0200..."; untrusted.
  static Result<Address> parse(std::string_view);
  std::string text() const;
  meeting::Where where() const { return {host, port}; }
  // For messages: "'seat3' at 10.0.0.1:4242".
  std::string called() const { return concat("'", name, "' at ", host, ":", port); }
};

} // namespace dlhost::plugins::fabric
