#include "address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <memory>
#include <span>

#include <sodium.h>

namespace dlhost::plugins::fabric {
namespace {

constexpr std::string_view scheme = "fabric:";

// An address of either family, and how many of its bits name the network.
struct Network {
  int family = AF_UNSPEC;
  std::array<std::uint8_t, 16> bytes{};
  int bits = 0;

  int longest() const { return family == AF_INET ? 32 : 128; }
  bool has(std::span<const std::uint8_t> other) const {
    for (int bit = 0; bit < bits; bit += 8) {
      const int mask = bits - bit >= 8 ? 0xFF : 0xFF << (8 - (bits - bit)) & 0xFF;
      const auto at = static_cast<std::size_t>(bit / 8);
      if (((bytes[at] ^ other[at]) & mask) != 0) return false;
    }
    return true;
  }
};

bool plain(std::string_view name) {
  return !name.empty() && name.size() <= 64 &&
         std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.'; });
}

template <class Number> bool read(std::string_view text, Number& number) {
  const auto end = text.data() + text.size();
  const auto how = std::from_chars(text.data(), end, number);
  return how.ec == std::errc() && how.ptr == end;
}

Result<Network> network_of(const std::string& text) {
  const auto slash = std::min(text.find('/'), text.size());
  const std::string address = text.substr(0, slash);
  Network network;
  network.family = address.find(':') == std::string::npos ? AF_INET : AF_INET6;
  network.bits = network.longest();
  const bool good = inet_pton(network.family, address.c_str(), network.bytes.data()) == 1 &&
                    (slash == text.size() || read(std::string_view(text).substr(slash + 1), network.bits)) &&
                    network.bits >= 0 && network.bits <= network.longest();
  if (!good) return Status::invalid("'", text, "' is neither an address nor a network; such as 10.0.0.0/8");
  return network;
}

std::span<const std::uint8_t> bytes_of(const sockaddr& address) {
  if (address.sa_family == AF_INET)
    return {reinterpret_cast<const std::uint8_t*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr), 4};
  if (address.sa_family == AF_INET6)
    return {reinterpret_cast<const std::uint8_t*>(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr), 16};
  return {};
}

} // namespace

Result<Address> Address::parse(std::string_view text) {
  const auto wrong = [whole = text.substr(0, 80)] {
    return Status::invalid("'", whole, "' is no address of the fabric transport");
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
  if (!plain(name)) return wrong();
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

Result<std::string> own_address_in(const std::string& text) {
  DLHOST_ASSIGN(const Network network, network_of(text));
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return Status::system(errno, "asking for this machine's addresses");
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(list, &freeifaddrs);
  std::string others;
  for (const ifaddrs* one = list; one; one = one->ifa_next) {
    if (!one->ifa_addr || (one->ifa_flags & IFF_UP) == 0) continue;
    const auto bytes = bytes_of(*one->ifa_addr);
    if (bytes.empty()) continue;
    char name[INET6_ADDRSTRLEN] = {};
    inet_ntop(one->ifa_addr->sa_family, bytes.data(), name, sizeof name);
    if (one->ifa_addr->sa_family == network.family && network.has(bytes)) return std::string(name);
    others += concat(others.empty() ? "" : ", ", name);
  }
  return Status::not_found("this machine has no address in ", text, "; it has ", others);
}

} // namespace dlhost::plugins::fabric
