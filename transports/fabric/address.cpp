#include "address.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include <sodium.h>

namespace dlhost::plugins::fabric {
namespace {

constexpr std::string_view scheme = "fabric:";

bool is_plain(std::string_view name) {
  return !name.empty() && name.size() <= 64 &&
         std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.'; });
}

template <class Number> bool read(std::string_view text, Number& number) {
  const auto end = text.data() + text.size();
  const auto how = std::from_chars(text.data(), end, number);
  return how.ec == std::errc() && how.ptr == end;
}

} // namespace

Result<Address> Address::parse(std::string_view text) {
  const auto wrong = [whole = text.substr(0, 80)] {
    return Status::invalid("'", whole, "' is not an address of the fabric transport");
  };
  if (text.size() > longest_address || !text.starts_with(scheme)) return wrong();
  std::array<std::string_view, 4> parts;
  text.remove_prefix(scheme.size());
  for (auto& part : parts) {
    part = text.substr(0, &part == &parts.back() ? text.npos : text.find('/'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
  }
  const auto& [name, provider, place, hex] = parts;
  const auto colon = place.rfind(':');
  Address address{.name = std::string(name), .provider = std::string(provider), .host = {}, .port = 0, .wire = {}};
  if (!is_plain(name)) return wrong();
  if (colon == place.npos || !read(place.substr(colon + 1), address.port) || address.port == 0) return wrong();
  address.host = place.substr(0, colon);
  std::array<std::uint8_t, 16> number{};
  const int family = address.host.find(':') == std::string::npos ? AF_INET : AF_INET6;
  if (inet_pton(family, address.host.c_str(), number.data()) != 1) return wrong();
  address.wire.resize(hex.size() / 2);
  std::size_t length = 0;
  const char* end = nullptr;
  const bool decoded = sodium_hex2bin(reinterpret_cast<unsigned char*>(address.wire.data()), address.wire.size(),
                                      hex.data(), hex.size(), nullptr, &length, &end) == 0 &&
                       end == hex.data() + hex.size() && length == address.wire.size();
  if (!decoded || address.wire.empty() || address.provider.empty()) return wrong();
  return address;
}

std::string Address::text() const {
  std::string hex(wire.size() * 2 + 1, '\0');
  sodium_bin2hex(hex.data(), hex.size(), reinterpret_cast<const unsigned char*>(wire.data()), wire.size());
  hex.pop_back();
  return concat(scheme, name, "/", provider, "/", host, ":", port, "/", hex);
}

} // namespace dlhost::plugins::fabric
