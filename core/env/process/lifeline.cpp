#include "env/process/lifeline.h"

#include <cerrno>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dlhost::env {
namespace {

constexpr char watches = 'w', ends = 'e';
constexpr std::int64_t to_end = 2'000'000'000; // that a watcher is given which was let go

bool is_readable(int line, std::int64_t nanoseconds) {
  pollfd one{line, POLLIN, 0};
  int ready = 0;
  do ready = ::poll(&one, 1, static_cast<int>(nanoseconds / 1'000'000));
  while (ready < 0 && errno == EINTR);
  return ready > 0;
}

// None: the other end is closed.
std::optional<char> read_from(int line) {
  char byte = 0;
  ssize_t got = 0;
  do got = ::read(line, &byte, 1);
  while (got < 0 && errno == EINTR);
  return got == 1 ? std::optional(byte) : std::nullopt;
}

bool write_to(int line, char byte) { return ::send(line, &byte, 1, MSG_NOSIGNAL) == 1; }

} // namespace

Result<Lifeline> Lifeline::start_own(const std::vector<std::string>& arguments, const std::string& words) {
  int ends_of_line[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_of_line) != 0)
    return Status::system(errno, "make a line to another process of dlhost");
  Lifeline made{Descriptor(ends_of_line[0])};
  const Descriptor other(ends_of_line[1]);
  DLHOST_ASSIGN(made.watcher_, Process::start_own(arguments, words, other.get()));
  return made;
}

Result<int> Lifeline::hand_over() {
  if (::fcntl(line_.get(), F_SETFD, 0) != 0) return Status::system(errno, "hand over the line to another process");
  return line_.release();
}

Result<Lifeline> Lifeline::adopt(int descriptor) {
  Lifeline adopted{Descriptor(descriptor)};
  if (::fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0)
    return Status::system(errno, "take over the line to another process");
  return adopted;
}

Status Lifeline::await_watcher(std::int64_t nanoseconds) {
  if (!is_readable(line_.get(), nanoseconds)) return Status::timeout("another process of dlhost does not come up");
  if (read_from(line_.get()) == watches) return {};
  return Status::gone("another process of dlhost has ended as soon as it was started");
}

bool Lifeline::is_cut() const {
  pollfd one{line_.get(), POLLRDHUP, 0};
  return ::poll(&one, 1, 0) > 0 && (one.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void Lifeline::let_go() {
  if (line_.valid()) write_to(line_.get(), ends);
  if (watcher_) watcher_->wait(to_end);
  watcher_.reset();
}

Status Watcher::say_that_it_watches() {
  return write_to(STDIN_FILENO, watches) ? Status() : Status::gone("the process that is to be watched has ended");
}

std::optional<Watcher::End> Watcher::await_end(std::int64_t nanoseconds) {
  if (!is_readable(STDIN_FILENO, nanoseconds)) return {};
  return read_from(STDIN_FILENO) == ends ? End::in_order : End::killed;
}

} // namespace dlhost::env
