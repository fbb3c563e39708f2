// A ledger held against what must be in it: what checkpoints and the run's end name, the servers that the job has, and
// each step that its workers made.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plugin/registry.h"
#include "run/audit.h"
#include "run/audit_claims.h"
#include "run/recovery/ledgers.h"

namespace dlhost::run {

// With what is missing or wrong among its faults. Not found: there is no ledger, and nothing says that there was one.
Result<Audit> held_audit(Disk&, plugin::Registry&, const KeptLedger&, const Claims&);

// What is named of arrangements that are not there.
std::vector<std::string> lost_arrangements(std::span<const KeptLedger>, const Claims&);

// The steps that each worker made, of which `until`, where it is known, is the first that it did not: each is in a
// version of each slice that it contributes to, or was dropped.
void account_for_steps(Audit&, const KeptLedger&, plugin::Registry&, const Claim* until);

} // namespace dlhost::run
