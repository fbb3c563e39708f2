#include "env/process/launched.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "env/process/posix.h"

namespace dlhost::env {

std::string launcher() { return std::getenv("PMIX_RANK") && std::getenv("PMIX_NAMESPACE") ? "pmix" : std::string(); }

std::optional<std::uint32_t> index_in_job() {
  const char* text = std::getenv("JOB_COMPLETION_INDEX");
  if (!text) return {};
  std::uint32_t index = 0;
  const char* end = text + std::strlen(text);
  const auto [read, error] = std::from_chars(text, end, index);
  return error == std::errc() && read == end ? std::optional(index) : std::nullopt;
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

bool is_this_machine(const std::string& host) { return host == "localhost" || host == host_name(); }

// Nothing is sent: the system says by which of its addresses it would go.
Result<std::string> own_address_towards(const std::string& host) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  if (const int error = getaddrinfo(host.c_str(), "9", &hints, &found); error != 0)
    return Status::not_found("host '", host, "' has no address that is known here: ", gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, freeaddrinfo);
  for (const addrinfo* one = found; one; one = one->ai_next) {
    const Descriptor socket(::socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    std::array<char, NI_MAXHOST> text{};
    if (socket.valid() && connect(socket.get(), one->ai_addr, one->ai_addrlen) == 0 &&
        getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
        getnameinfo(reinterpret_cast<const sockaddr*>(&own), size, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) == 0)
      return own.ss_family == AF_INET6 ? concat("[", text.data(), "]") : std::string(text.data());
  }
  return Status::not_found("no address of this machine leads to host '", host, "'");
}

} // namespace dlhost::env
