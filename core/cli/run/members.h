// Processes that were started one by one, by a launcher or by hand, and are to be one run: what people say of it, and
// how this one finds the others.
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
  std::string launched; // by dlhost launch, which has founded that place, and tells the secret on standard input
  std::optional<std::uint32_t> rank, members;
};
void add_members_options(CLI::App& command, MembersOptions&);

// Null: nothing says that there are others. The job's workers become processes where there are.
Result<std::unique_ptr<run::Members>> join_members(Context&, config::Job&, const MembersOptions&);

} // namespace dlhost::cli
