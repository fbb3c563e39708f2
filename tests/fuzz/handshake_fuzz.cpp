// Reads any bytes as the handshake of the fabric transport, from a caller and from a callee, and as an address.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "address.h"
#include "meeting/handshake.h"

using namespace dlhost::plugins::fabric;
using dlhost::plugins::meeting::Handshake;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const char> bytes(reinterpret_cast<const char*>(data), size);
  const std::string text(bytes.begin(), bytes.end());
  if (const auto address = Address::parse(text); address.ok() && !Address::parse(address->text()).ok()) std::abort();
  std::string out;
  Handshake callee = Handshake::answer("fabric", {}, "callee"),
            caller = Handshake::call("fabric", {}, "caller", "callee");
  // Input may arrive in parts.
  const std::size_t first = size > 0 ? data[0] % size : 0;
  for (Handshake* const one : {&callee, &caller})
    if (one->take(bytes.first(first), out).ok() && one->take(bytes.subspan(first), out).ok() &&
        (one->has_proof() || one->done()))
      std::abort(); // no input contains the drawn numbers
  return 0;
}
