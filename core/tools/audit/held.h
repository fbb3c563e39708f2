// Checks a ledger against everything that must be in it: the lines that checkpoints and the run's summary name, the
// files of the job's servers, and each step that the workers made.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plugin/registry.h"
#include "run/recovery/ledgers.h"
#include "tools/audit/audit.h"
#include "tools/audit/claims.h"

namespace dlhost::tools {

// Reads a ledger; missing and wrong things are among its faults. Errors: Code::not_found: there is no ledger, and no
// claim names one.
Result<Audit> held_audit(Disk&, plugin::Registry&, const run::KeptLedger&, const Claims&);

// Faults for arrangements that claims name and whose folders are missing.
std::vector<std::string> lost_arrangements(std::span<const run::KeptLedger>, const Claims&);

// Checks that each step of each worker is in a version of each slice that it contributes to, or was dropped. `until`: a
// claim with the first step that each worker had not made; null: unknown.
void account_for_steps(Audit&, const run::KeptLedger&, plugin::Registry&, const Claim* until);

} // namespace dlhost::tools
