// Where an endpoint of the fabric transport is found: a socket at which it is called, and its name on the wire.
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
  std::string name;     // whose it is, for people
  std::string provider; // both sides have to have the same
  std::string host;     // numbers, not a name
  std::uint16_t port = 0;
  std::string wire; // as the provider names it: bytes

  // "fabric:seat3/tcp;ofi_rxm/10.0.0.1:4242/0200..."; comes from outside.
  static Result<Address> parse(std::string_view);
  std::string text() const;
  meeting::Where where() const { return {host, port}; }
  // As messages call it: "'seat3' at 10.0.0.1:4242".
  std::string called() const { return concat("'", name, "' at ", host, ":", port); }
};

} // namespace dlhost::plugins::fabric
