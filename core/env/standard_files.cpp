#include "env/standard_files.h"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

namespace dlhost::env {

void hold_standard_files() {
  for (int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(file, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", O_RDWR) < 0) ::_exit(1); // the lowest free
}

Status flush_standard_output() {
  errno = 0;
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return {};
  return Status::system(errno ? errno : EIO, "cannot write to standard output");
}

} // namespace dlhost::env
