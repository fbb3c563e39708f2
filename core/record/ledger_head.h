// The state of a server's ledger at a checkpoint: so many lines of the file must exist, unchanged. Checkpoints and
// summaries hold the heads of all of a run's ledgers; `dlhost audit` looks for these lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dlhost/status.h>
#include <nlohmann/json_fwd.hpp>

namespace dlhost::record {

// The identity of a ledger.
struct LedgerOf {
  std::string run;               // the run's own name, independent of its folder; empty: no ledger
  std::uint64_t arrangement = 1; // number of the arrangement of workers and servers
  std::uint64_t attempt = 1;     // attempt within the arrangement; also the number of its folder
  std::string numbers = {};      // digest of the ledger's arrangement.json; empty: unknown
  std::string job = {};          // digest of the job's text in the attempt; empty: unknown
  bool operator==(const LedgerOf&) const = default;
};
// "8f14e45fceea167a/1/2"
std::string to_string(const LedgerOf&);

struct LedgerHead {
  std::uint64_t arrangement = 1, attempt = 1;
  std::uint32_t server = 0; // index among the servers of all groups
  std::uint64_t lines = 0;
  std::uint64_t chain = 0; // the digest at the end of the last line
  bool operator==(const LedgerHead&) const = default;
};

struct LedgerHeads {
  std::string run; // empty: no ledger
  std::vector<LedgerHead> all;
  std::vector<std::uint64_t> steps; // steps done by each worker of the newest attempt, all contained in these heads

  // Merges newer heads, if there are any. Drops heads of another run.
  void add(const LedgerHeads&);
};

// {"run":"8f14e45fceea167a","steps":[60,60],"heads":[[1,1,0,12,"0f1e2d3c4b5a6978"]]}
nlohmann::ordered_json json_of(const LedgerHeads&);
// Errors: Code::corrupt for malformed heads; the message says what is wrong.
Result<LedgerHeads> ledger_heads(const nlohmann::json&);

} // namespace dlhost::record
