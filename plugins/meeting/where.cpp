#include "where.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <span>

namespace dlhost::plugins::meeting {
namespace {

// An address of either family, and the number of its network bits.
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

Result<std::string> numbers_of(const std::string& name) {
  addrinfo hints{}, *list = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  if (const int code = getaddrinfo(name.c_str(), nullptr, &hints, &list); code != 0)
    return Status::not_found("no host is known by the name '", name, "': ", std::string_view(gai_strerror(code)));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(list, &freeaddrinfo);
  char numbers[INET6_ADDRSTRLEN] = {};
  const auto bytes = bytes_of(*list->ai_addr);
  if (bytes.empty() || !inet_ntop(list->ai_family, bytes.data(), numbers, sizeof numbers))
    return Status::not_found("the host '", name, "' has no address that can be called");
  return std::string(numbers);
}

} // namespace

Result<Where> Where::find(std::string_view text) {
  const auto colon = text.rfind(':');
  Where where;
  if (colon == text.npos || colon == 0 || text.size() > 300 || !read(text.substr(colon + 1), where.port))
    return Status::invalid("'", text.substr(0, 300), "' is not a place: give HOST:PORT, such as 10.0.0.1:4242");
  std::string host(text.substr(0, colon));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  DLHOST_ASSIGN(where.host, numbers_of(host));
  return where;
}

std::string Where::text() const {
  return host.find(':') == std::string::npos ? concat(host, ":", port) : concat("[", host, "]:", port);
}

Result<Where::Place> Where::place() const {
  Place made;
  auto& four = reinterpret_cast<sockaddr_in&>(made.bytes);
  auto& six = reinterpret_cast<sockaddr_in6&>(made.bytes);
  if (inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    made.size = sizeof four;
  } else if (inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    made.size = sizeof six;
  } else {
    return Status::invalid("'", host, "' is not a numeric address");
  }
  return made;
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

} // namespace dlhost::plugins::meeting
