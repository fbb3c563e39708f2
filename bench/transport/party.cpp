#include "party.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

extern char** environ;

namespace dlhost::bench {

Party::Pipes Party::pipes() {
  int there[2], back[2];
  if (pipe2(there, O_CLOEXEC) != 0 || pipe2(back, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  for (const int its : {there[0], back[1]}) fcntl(its, F_SETFD, 0); // only for this child, so that their end is seen
  return {{back[0], there[1]}, {there[0], back[1]}};
}

Party::Party(const std::string& program, std::vector<std::string> words) : Party(program, std::move(words), pipes()) {}

Party::Party(const std::string& program, std::vector<std::string> words, Pipes pipes)
    : channel_(pipes.here[0], pipes.here[1]) {
  words.insert(words.begin(), program);
  words.insert(words.end(), {"--from", std::to_string(pipes.there[0]), "--to", std::to_string(pipes.there[1])});
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int failed = posix_spawn(&process_, program.c_str(), nullptr, nullptr, arguments.data(), environ);
  for (const int its : pipes.there) close(its);
  if (failed != 0) throw std::runtime_error("cannot start " + program);
}

Party::Party(Party&& other) noexcept
    : process_(std::exchange(other.process_, 0)), channel_(std::move(other.channel_)) {}

Party::~Party() {
  if (process_ == 0) return;
  kill(process_, SIGTERM);
  waitpid(process_, nullptr, 0);
}

void Party::join() {
  int how = 0;
  waitpid(std::exchange(process_, 0), &how, 0);
  if (how != 0) throw std::runtime_error("the other side failed");
}

int be_party(const std::string& program, int from, int to, const std::function<void(Channel&)>& work) {
  prctl(PR_SET_PDEATHSIG, SIGKILL); // libfabric's own line waits for ever
  Channel channel(from, to);
  try {
    work(channel);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", program, error.what());
    return 1;
  }
}

} // namespace dlhost::bench
