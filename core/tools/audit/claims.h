// What a run's ledgers must hold: so its checkpoints say, each from when it was written, and its summary from its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <dlhost/host.h>

#include "param/table/sample_origin.h"
#include "record/ledger_head.h"

namespace dlhost::run {

struct Claim {
  std::string by;         // the file that says so
  std::uint64_t step = 0; // of the run's leader
  bool of_end = false;    // nothing came after it
  record::LedgerHeads heads;
  std::optional<std::int64_t> seed;         // of the job
  std::vector<param::SampleOrigin> origins; // of its sources

  // The newest arrangement and attempt that it names; 0 and 0: none.
  struct Place {
    std::uint64_t arrangement = 0, attempt = 0;
    auto operator<=>(const Place&) const = default;
  };
  Place newest() const;
};

struct Claims {
  std::vector<Claim> all;          // the newest last; those that name no ledger are left out
  std::vector<std::string> faults; // what was to say something and is damaged
};

// `elsewhere`: where the run's job has its checkpoints, if not in its folder; of those that lie there only what is of
// the run of that name.
Claims claims_of(Disk&, const std::string& run, const std::string& elsewhere, const std::string& name);

} // namespace dlhost::run
