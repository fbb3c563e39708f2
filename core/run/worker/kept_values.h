// The tensors of a checkpoint that the store does not have: workers' own values, the state of their codecs, histories
// of other server groups, and those groups' values. Collected while all workers stand still.
#pragma once

#include <optional>
#include <vector>

#include "param/file/checkpoint.h"
#include "param/table/gathered.h"
#include "run/worker/alignment.h"
#include "run/worker/lost_groups.h"
#include "run/worker/salvage.h"
#include "run/worker/worker_ends.h"

namespace dlhost::run {

class KeptValues {
 public:
  KeptValues(WorkerEnds& ends, const LostGroups& lost, const Alignment& alignment, const Salvage& salvage)
      : ends_(ends), lost_(lost), alignment_(alignment), salvage_(salvage) {}
  // Of each worker; empty: the servers have all.
  std::vector<std::vector<param::TensorPlace>> of_workers();
  // Of each other server group that is not lost, and whose masters this worker sees.
  std::vector<std::vector<param::TensorPlace>> of_server_groups();

 private:
  std::vector<param::TensorPlace> by_codec(std::uint32_t worker);
  std::vector<param::TensorPlace> by_servers(std::uint32_t server_group);
  void add_own_values(std::uint32_t worker, std::vector<param::TensorPlace>& own) const;
  std::span<std::byte> newest_history(std::uint32_t server_group, std::size_t param, std::size_t slot);

  WorkerEnds& ends_;
  const LostGroups& lost_;
  const Alignment& alignment_;
  const Salvage& salvage_;
  param::Gathered gathered_;
};

} // namespace dlhost::run
