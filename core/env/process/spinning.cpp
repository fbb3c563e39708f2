#include "env/process/spinning.h"

#include <climits>
#include <cstdlib>

#include <unistd.h>

namespace dlhost::env {

void spin_briefly(char** arguments) {
  constexpr const char* name = "GOMP_SPINCOUNT";
  if (::getenv(name) || ::getenv("OMP_WAIT_POLICY")) return;
  char path[PATH_MAX]; // not /proc/self/exe itself, by which the system would call the process
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0 || ::setenv(name, "1000", 0) != 0) return; // some microseconds
  path[length] = '\0';
  ::execv(path, arguments); // returns where it cannot, and then all goes on as it was
}

} // namespace dlhost::env
