// Starts the processes of one run on the given hosts, each through a shell there. Their output comes out of this
// process. When this process ends, or is asked to end, they end too. The launcher founds the meeting place of the
// members but is not a member.
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
  std::vector<On> hosts; // in rank order
  // A command of this machine's shell that takes a host's name and a line for that host's shell. Default: ssh, and for
  // this machine no command.
  std::string shell;
  std::string listen; // the meeting place: an address of this machine that all hosts reach, HOST:PORT
  // Equal on all hosts.
  std::string folder, program;
  std::vector<std::string> environment; // NAME=VALUE
  std::vector<std::string> arguments;   // of the program, before the command
  std::vector<std::string> of_leader;   // of the leader's command: the job, ...
};

// Parses a list of hosts; "a,b:2" means two processes on b.
Result<std::vector<Launch::On>> hosts_named(std::string_view text);
// Quotes a word for a shell.
std::string for_shell(std::string_view word);

class Launcher {
 public:
  // `stops`: set to ask for the end.
  Launcher(Host& host, plugin::Registry& registry, Launch launch, const std::atomic<bool>& stops)
      : host_(host), registry_(registry), launch_(std::move(launch)), stops_(stops) {}

  // Waits until the run is over and returns the exit status of its last leader. Errors: the run has not begun, and all
  // its processes have ended.
  Result<int> run();

 private:
  struct Member {
    std::string name; // host name, and the process number if the host has several
    std::unique_ptr<env::Conversation> talk;
    std::string line, error;  // the unfinished line of each output
    std::optional<int> ended; // exit status
    // It was killed, ended by a plugin, or its host is out of reach. Other members may then continue the run.
    bool lost() const;
  };
  Status found();
  Status start();
  std::vector<std::string> words_of(const std::string& host, std::uint32_t rank) const;
  Status look();
  void relay(Member&);
  Status see_end(Member&);
  // The first member leads. If it is lost, another may.
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
  bool asked_ = false; // the leader was asked to end
};

} // namespace dlhost::run
