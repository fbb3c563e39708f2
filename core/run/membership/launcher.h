// Starts the processes of one run on the hosts that it is given, each by a shell there, and speaks for them here: what
// they say comes out of this process, and when this one is asked to end, or ends, so do they. It founds the place where
// they meet, and is none of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/rendezvous.h>

#include "env/process/conversation.h"
#include "plugin/registry.h"

namespace dlhost::run {

struct Launch {
  struct On {
    std::string host;
    std::uint32_t processes = 1;
  };
  std::vector<On> hosts; // ranks in their order
  // A command of this machine's shell that is given a host's name and a line for the shell of that one; empty: ssh, and
  // for this machine itself none.
  std::string shell;
  std::string listen; // where they meet: an address of this machine that all reach, HOST:PORT
  // The same on all hosts.
  std::string folder, program;
  std::vector<std::string> environment; // NAME=VALUE
  std::vector<std::string> arguments;   // of the program, before its command
  std::vector<std::string> of_leader;   // of the command: the job, ...
};

// "a,b:2": two processes on b.
Result<std::vector<Launch::On>> hosts_named(std::string_view text);
// A word as a shell reads it.
std::string for_shell(std::string_view word);

class Launcher {
 public:
  // `stops`: somebody asks for the end.
  Launcher(Host& host, plugin::Registry& registry, Launch launch, const std::atomic<bool>& stops)
      : host_(host), registry_(registry), launch_(std::move(launch)), stops_(stops) {}

  // Until the run is over: the exit status of who led it last. Not ok: it has not begun, and none of it is left.
  Result<int> run();

 private:
  struct Member {
    std::string name; // of its host, and which there
    std::unique_ptr<env::Conversation> talk;
    std::string line, error;  // what it has said of one, so far
    std::optional<int> ended; // its exit status
    // It was killed, or its host is out of reach: others may go on without it, whatever it did.
    bool lost() const;
  };
  Status found();
  Status start();
  std::vector<std::string> words_of(const std::string& host, std::uint32_t rank) const;
  Status look();
  void relay(Member&);
  Status see_end(Member&);
  // The first leads; when it is lost, one of the others may.
  bool is_over() const;
  int exit_status() const;
  void ask_to_end();
  void sleep() const;
  void dismiss();

  Host& host_;
  plugin::Registry& registry_;
  const Launch launch_;
  const std::atomic<bool>& stops_;
  JobSecret secret_{};
  std::unique_ptr<Rendezvous> rendezvous_;
  std::unique_ptr<dlhost::Place> place_;
  std::vector<Member> members_;
  bool asked_ = false; // who leads, to end
};

} // namespace dlhost::run
