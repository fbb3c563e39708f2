#include "tools/inspect/child.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dlhost::tools {

namespace {

constexpr std::size_t most_errors = 64 * 1024; // limit for a child that never stops writing errors

struct Pipe {
  int read = -1, write = -1;
  ~Pipe() {
    if (read >= 0) close(read);
    if (write >= 0) close(write);
  }
  bool open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read = ends[0];
    write = ends[1];
    return true;
  }
};

// Appends the bytes that are there; false: end of file.
bool read_some(int file, std::string& into) {
  char bytes[16 * 1024];
  const auto got = read(file, bytes, sizeof bytes);
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  into.append(bytes, static_cast<std::size_t>(got));
  return got > 0;
}

} // namespace

Result<Child> Child::start(const std::vector<std::string>& arguments) {
  Pipe output, error;
  if (!output.open() || !error.open()) return Status::system(errno, "no pipe to a child process");
  std::vector<char*> words = {const_cast<char*>("dlhost")};
  for (const auto& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, error.write, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.write, child_output);
  Child child;
  const int failed = posix_spawn(&child.process_, "/proc/self/exe", &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) {
    child.process_ = -1;
    return Status::system(failed, "a child process cannot be started");
  }
  child.output_ = std::exchange(output.read, -1);
  child.error_ = std::exchange(error.read, -1);
  return child;
}

Child::Child(Child&& other) noexcept
    : process_(std::exchange(other.process_, -1)), output_(std::exchange(other.output_, -1)),
      error_(std::exchange(other.error_, -1)), ended_(other.ended_), pending_(std::move(other.pending_)),
      errors_(std::move(other.errors_)) {}

Child::~Child() {
  wait();
  if (output_ >= 0) close(output_);
  if (error_ >= 0) close(error_);
}

Child::Next Child::next(std::string& line, Nanoseconds limit) {
  for (;;) {
    if (const auto end = pending_.find('\n'); end != std::string::npos) {
      line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return Next::line;
    }
    pollfd files[] = {{output_, POLLIN, 0}, {errors_.size() < most_errors ? error_ : -1, POLLIN, 0}};
    const int ready = poll(files, 2, static_cast<int>(limit / 1'000'000));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return Next::timeout;
    if (files[1].revents && !read_some(error_, errors_)) close(std::exchange(error_, -1));
    if (files[0].revents && !read_some(output_, pending_)) {
      ended_ = true;
      // Reads its last errors; does not wait for other processes that hold that pipe.
      for (pollfd last{error_, POLLIN, 0}; error_ >= 0 && poll(&last, 1, 20) > 0 && errors_.size() < most_errors;)
        if (!read_some(error_, errors_)) break;
      return Next::end;
    }
  }
}

std::string Child::wait() {
  if (process_ < 0) return "";
  int state = 0;
  // The pipe closes a little before the process can be reaped.
  pid_t gone = 0;
  for (int look = 0; look < 100 && (gone = waitpid(process_, &state, WNOHANG)) == 0 && ended_; ++look)
    poll(nullptr, 0, 10);
  if (gone == 0) {
    kill(process_, SIGKILL);
    waitpid(process_, &state, 0);
  }
  process_ = -1;
  if (WIFSIGNALED(state)) return concat("ended by signal ", WTERMSIG(state), " (", strsignal(WTERMSIG(state)), ")");
  if (WEXITSTATUS(state) != 0) return concat("ended with exit code ", WEXITSTATUS(state));
  return "";
}

} // namespace dlhost::tools
