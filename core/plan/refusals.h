// One table of the combinations that a job can ask for and this version does not do. Each row
// has the key to change, the reason and the remedy.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "config/job.h"
#include "config/problems.h"
#include "plan/declared.h"
#include "plan/exchange.h"

namespace dlhost::plan {

// Facts of a net whose params are laid out.
struct NetFacts {
  bool sums_state = false; // some running state is summed over workers
  bool carries = false;    // layers carry something from batch to batch
};

// A job, resolved, to be judged.
struct Asked {
  const config::Job& job;
  const Declared& declared;
  const Exchange& exchange;
  NetFacts net = {};
};

struct Refusal {
  // From when on it can be judged.
  enum class From : std::uint8_t {
    job,     // the job alone
    any,     // the plugins that it names; also with one worker
    workers, // the same, of a job with several workers
    net,     // their net
  } from = From::job;
  const char* name; // of the row, in tests
  const char* key;  // of the job: what to change
  // Judged with each handler in turn; most rows do not look at it.
  bool (*is_asked)(const Asked&, const Declared::Handler&);
  std::string (*why)(const Asked&, const Declared::Handler&);
  const char* remedy;
};
std::span<const Refusal> refusals();

// True if some layers compute in f16, so that gradients must be scaled.
bool computes_in_f16(const config::Job&);

// Adds what the job alone shows to be refused.
void check_topology(const config::Job&, config::Problems&);
// Adds what its plugins show to be refused.
void check_exchange(const config::Job&, const Declared&, const Exchange&, config::Problems&);
// Errors: the net is refused.
Status check_net(const Asked&);

} // namespace dlhost::plan
