// How far a server's ledger had come when a checkpoint was written: that much of the file has to be there, unchanged.
// Checkpoints and summaries hold the heads of all of a run's ledgers; `dlhost audit` looks for what they name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dlhost/status.h>
#include <nlohmann/json_fwd.hpp>

namespace dlhost::record {

// What a ledger is of.
struct LedgerOf {
  std::string run;               // its own name for itself, wherever its folder lies; empty: it keeps none
  std::uint64_t arrangement = 1; // of the run's workers and servers
  std::uint64_t attempt = 1;     // in that arrangement: the number of its folder
  bool operator==(const LedgerOf&) const = default;
};
// "8f14e45fceea167a/1/2"
std::string to_string(const LedgerOf&);

struct LedgerHead {
  std::uint64_t arrangement = 1, attempt = 1;
  std::uint32_t server = 0; // of all server groups
  std::uint64_t lines = 0;
  std::uint64_t chain = 0; // the digest at the end of the last of them
  bool operator==(const LedgerHead&) const = default;
};

struct LedgerHeads {
  std::string run; // whose; empty: it keeps none
  std::vector<LedgerHead> all;
  std::vector<std::uint64_t> steps; // done by each worker of the newest attempt, all of which these have

  // The same with what is known now, if anything is. What was known of another run is left out.
  void add(const LedgerHeads&);
};

// {"run":"8f14e45fceea167a","steps":[60,60],"heads":[[1,1,0,12,"0f1e2d3c4b5a6978"]]}
nlohmann::ordered_json json_of(const LedgerHeads&);
// Not ok (Code::corrupt): it is no such thing; the message says what is wrong.
Result<LedgerHeads> ledger_heads(const nlohmann::json&);

} // namespace dlhost::record
