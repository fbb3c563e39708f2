// Joins processes that were started separately, by a launcher or by hand, into one run: the user's options, and how
// this process finds the others.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cli/command.h"
#include "run/membership/members.h"

namespace dlhost::cli {

struct MembersOptions {
  std::string rendezvous, secret, host;
  std::string launched; // the place founded by dlhost launch, which sends the secret on standard input
  std::optional<std::uint32_t> rank, members;
};
void add_members_options(CLI::App& command, MembersOptions&);

// Null: no option names other processes. Otherwise sets the job's workers to processes.
Result<std::unique_ptr<run::Members>> join_members(Context&, config::Job&, const MembersOptions&);

} // namespace dlhost::cli
