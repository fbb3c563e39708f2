#include "env/process/spinning.h"

#include <climits>
#include <cstdlib>

#include <unistd.h>

namespace dlhost::env {

void spin_briefly(char** arguments) {
  constexpr const char* name = "GOMP_SPINCOUNT";
  if (::getenv(name) || ::getenv("OMP_WAIT_POLICY")) return;
  char path[PATH_MAX]; // not /proc/self/exe, which would become the name of the process
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0 || ::setenv(name, "1000", 0) != 0) return; // spins: some microseconds
  path[length] = '\0';
  ::execv(path, arguments); // returns only on failure; then libgomp keeps its spin time
}

} // namespace dlhost::env
