#include "env/launched.h"

#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>

namespace dlhost::env {

std::string launcher() { return std::getenv("PMIX_RANK") && std::getenv("PMIX_NAMESPACE") ? "pmix" : std::string(); }

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

} // namespace dlhost::env
