// The claims about a run's ledgers: each checkpoint names the lines that existed when it was written, and the summary
// those at the run's end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <dlhost/host.h>

#include "param/table/sample_origin.h"
#include "record/ledger_head.h"
#include "run/recovery/ledgers.h"

namespace dlhost::tools {

struct Claim {
  std::string by;         // the file that makes the claim
  std::uint64_t step = 0; // of the run's leader
  bool of_end = false;    // made at the run's end
  bool of_job = false;    // the job says so, and no file of the run
  record::LedgerHeads heads;
  std::optional<std::int64_t> seed;         // of the job
  std::vector<param::SampleOrigin> origins; // of its sources

  // The newest arrangement and attempt that the claim names; 0 and 0: none.
  struct Place {
    std::uint64_t arrangement = 0, attempt = 0;
    auto operator<=>(const Place&) const = default;
  };
  Place newest() const;
};

struct Claims {
  std::vector<Claim> all;          // the newest last; only those that name ledgers
  std::vector<std::string> faults; // errors of claims that cannot be read
  bool unnamed = false;            // the summary says that the run is done, and names no ledgers
  // The summary, which each run has from its first step on, was removed. Then the job says how many steps the newest
  // arrangement made.
  bool lost = false;
  std::uint64_t newest = 0; // the number of that arrangement, if so
  std::optional<Claim> of_job;
};

// `elsewhere`: the job's folder for checkpoints, if it is not in the run's folder; checkpoints of other runs there are
// ignored. `name`: the run's name in its ledgers.
Claims claims_of(Disk&, const std::string& run, const std::string& elsewhere, const std::string& name);

// Adds a fault if the run has no summary or an end without ledgers, and what the job says of the newest ledger.
// `job_file`: the job's.
void look_for_summary(Disk&, const std::string& run, const std::string& job_file, const run::KeptLedger& newest,
                      Claims&);

} // namespace dlhost::tools
