// The ledgers of a run, as one worker deals with them: its own server's file, and for a leader the heads of all files,
// which a checkpoint names.
#pragma once

#include <functional>
#include <vector>

#include "record/ledger_head.h"
#include "run/worker/worker_ends.h"

namespace dlhost::run {

class LedgerKeeper {
 public:
  // `is_lost`: the server group of a worker is lost while the others go on.
  LedgerKeeper(WorkerEnds& ends, std::function<bool(std::uint32_t server_group)> is_lost)
      : ends_(ends), is_lost_(std::move(is_lost)) {}

  // Opens the file of this worker's server. A server that continues a lost one continues its file.
  Status keep(const param::StartPoint&);
  // A leader's: waits until all servers have synced their files to the disk. Afterwards heads() are theirs.
  Status attest();
  Status hear_attested(std::uint32_t from, const param::to_worker::Attested&);
  // The heads as they are on the disk, when no server runs any more.
  Status find_heads();
  const record::LedgerHeads& heads() const { return heads_; }
  void reach(std::vector<std::uint64_t> steps) { heads_.steps = std::move(steps); }
  // The server group has new processes, whose ledgers go on.
  void forget(std::uint32_t server_group);

 private:
  Result<std::optional<record::LedgerHead>> find_head(std::uint32_t server) const;
  Status find_heads_of_lost();

  WorkerEnds& ends_;
  const std::function<bool(std::uint32_t server_group)> is_lost_;
  record::LedgerHeads heads_;
  std::vector<record::LedgerHead> heads_of_lost_;
  std::vector<bool> attests_; // of each worker: its server is to say how far its ledger has come
};

} // namespace dlhost::run
