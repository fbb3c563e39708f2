#include "env/process/successors.h"

#include <algorithm>
#include <atomic>

#include <limits.h>
#include <unistd.h>

namespace dlhost::env {
namespace {

char will[PATH_MAX];
std::atomic<bool> written{false};

} // namespace

void leave_to_heirs(const std::string& path) {
  written = false;
  if (path.empty() || path.size() >= sizeof will) return;
  std::copy(path.begin(), path.end(), will);
  will[path.size()] = '\0';
  written = true;
}

void disinherit() noexcept {
  if (written) ::unlink(will);
}

} // namespace dlhost::env
