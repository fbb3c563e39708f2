#include "cli/run/members.h"

#include <iostream>
#include <optional>

#include "cli/run/waiting.h"
#include "env/process/interrupt.h"
#include "env/process/launched.h"
#include "env/secret.h"
#include "plan/place.h"

namespace dlhost::cli {
namespace {

// HOST:PORT means the embedded rendezvous at that place; other text is a plugin's name, with the job's options for it.
Part rendezvous_named(const std::string& text, const Part& of_job) {
  if (text == of_job.type) return of_job;
  Part part;
  if (text.find(':') == std::string::npos) {
    part.type = text;
    return part;
  }
  part.type = "embedded";
  part.options.entries.emplace_back("at", Value{text, {}});
  return part;
}

Part rendezvous_of_launcher(const std::string& at) {
  Part part = rendezvous_named(at, {});
  part.options.entries.emplace_back("rank_0_founds", Value{false, {}});
  return part;
}

Result<std::optional<JobSecret>> secret_of(Disk& disk, const MembersOptions& options) {
  const std::string& path = options.secret;
  if (!options.launched.empty()) {
    std::string line;
    std::getline(std::cin, line);
    if (const auto secret = env::secret_in(line)) return std::optional<JobSecret>(*secret);
    return Status::invalid("--launched is for `dlhost launch`, which passes the job's secret on standard input");
  }
  if (path.empty()) return std::optional<JobSecret>();
  if (const std::string others = env::others_who_may_read(path); !others.empty()) return Status::invalid(others);
  DLHOST_ASSIGN(std::string text, disk.read_text(path));
  while (text.ends_with('\n')) text.pop_back();
  if (const auto secret = env::secret_in(text)) return std::optional<JobSecret>(*secret);
  return Status::invalid(path, ": a job's secret is 64 hexadecimal digits, the same for all its processes; "
                               "`openssl rand -hex 32` draws one");
}

} // namespace

void add_members_options(CLI::App& command, MembersOptions& options) {
  command
      .add_option(
          "--rendezvous", options.rendezvous,
          "the place where the separately started processes of a run meet: HOST:PORT, where rank 0 listens, or a "
          "rendezvous plugin, with the job's options for it; else the job's rendezvous, or that of srun or mpirun")
      ->type_name("HOST:PORT");
  command
      .add_option("--rank", options.rank,
                  "with --rendezvous: the rank of this process; 0 leads the run (in Kubernetes its index in the job)")
      ->type_name("NUMBER");
  command.add_option("--members", options.members, "with --rendezvous: the number of processes")->type_name("NUMBER");
  command
      .add_option(
          "--secret", options.secret,
          "with --rendezvous: a file of 64 hexadecimal digits that authenticates the processes; only its owner and "
          "the owner's own group may read it, or, if it is root's, a group of this process")
      ->type_name("FILE");
  command
      .add_option("--host", options.host,
                  "with --rendezvous: this machine's name; workers under one name share memory (the host name)")
      ->type_name("NAME");
  command.add_option("--launched", options.launched)->group("");
}

Result<std::unique_ptr<run::Members>> join_members(Context& context, config::Job& job, const MembersOptions& options) {
  Part rendezvous = !options.launched.empty()    ? rendezvous_of_launcher(options.launched)
                    : options.rendezvous.empty() ? job.topology.rendezvous
                                                 : rendezvous_named(options.rendezvous, job.topology.rendezvous);
  const std::uint32_t seats = plan::Place::seats(job.topology);
  if (rendezvous.type.empty() && seats > 1) rendezvous.type = env::launcher();
  if (rendezvous.type.empty()) {
    if (options.rank || options.members || !options.secret.empty())
      return Status::invalid(
          "--rank, --members and --secret need --rendezvous, the place where this process meets the others");
    return std::unique_ptr<run::Members>();
  }
  DLHOST_ASSIGN(const auto secret, secret_of(context.host.disk(), options));
  if (!options.launched.empty()) env::end_with_input();
  if (rendezvous.type == "embedded" && !secret && options.members.value_or(2) > 1)
    return Status::invalid("processes that meet at HOST:PORT need --secret FILE, the same for all of them; "
                           "`openssl rand -hex 32` draws one");
  const std::uint32_t expected = options.members.value_or(0);
  std::optional<Waiting> waiting;
  waiting.emplace(context.host, concat("waits for the other processes of the run",
                                       expected > 0 ? concat(", which are ", expected, " in all,") : "",
                                       " to come to the rendezvous '",
                                       options.rendezvous.empty() ? rendezvous.type : options.rendezvous, "'"));
  DLHOST_ASSIGN(auto members,
                run::Members::join(context.host, context.registry(), rendezvous,
                                   {.self = {.rank = options.rank.value_or(env::index_in_job().value_or(any_rank)),
                                             .host = options.host.empty() ? env::host_name() : options.host},
                                    .expected = expected,
                                    .secret = secret}));
  waiting.reset();
  if (members->is_to_begin() && seats < members->all().size())
    context.host.log().write(LogLevel::warning,
                             concat(members->all().size(), " processes are in this run, but the job has ", seats,
                                    seats == 1 ? " worker" : " workers",
                                    ": some processes have nothing to do; [topology] sets the number of workers"));
  job.topology.run_as = config::RunAs::processes;
  return members;
}

} // namespace dlhost::cli
