// What several workers do not do in this version, or not together: said before anything is made.
#include <algorithm>

#include "run/seat.h"

namespace dlhost::run {

Status Seat::supported(const param::Store& store) const {
  const config::Job& job = session_.job();
  const auto refuse = [&](const std::string& what) {
    return Status::unsupported(what, " with several workers: not in this version; train with one");
  };
  if (!session_.device().traits().host_memory)
    return refuse("device '" + job.train.device.type + "', whose memory the host cannot reach,");
  if (std::ranges::any_of(store.states(), [](const auto& state) { return state->merge == Merge::sum; }))
    return refuse("running state that is summed over workers");
  if (store.carries()) return refuse("what layers carry from batch to batch");
  if (job.train.reproducible && !in_step_)
    return refuse("train.reproducible under consistency '" + job.topology.consistency.type +
                  "', where updates are made in the order in which they come,");
  if (job.train.reproducible && job.updater.clip_norm > 0)
    return refuse("train.reproducible with updater.clip_norm, whose squares are added server by server,");
  if (job.train.reproducible && codec_)
    return refuse(
        "train.reproducible with topology.codec, which each worker's contributions go through for themselves,");
  if (job.train.reproducible && !place_.has_whole_blocks())
    return Status::invalid(
        "train.reproducible: the ", place_.global_batch, " samples of an update are summed in ", Place::blocks,
        " blocks, which ", seats_,
        " workers cannot share equally; take 2, 4 or 8 workers, and a batch that is a multiple of 8");
  if (job.train.reproducible && sync_)
    return refuse("train.reproducible with topology.server_groups = " + std::to_string(place_.server_groups) +
                  ", each of which makes updates of its own,");
  if (in_step_ && sync_ && param::GroupSync::gossips(*sync_))
    return Status::unsupported(
        "topology.sync = '", job.topology.sync.type, "' under consistency '", job.topology.consistency.type,
        "', whose groups make each step together: where groups gossip nobody waits; choose another one of the two");
  if (consistency_->next_timer({}) != 0)
    return refuse("consistency handler '" + job.topology.consistency.type +
                  "', which wants to be called after a while,");
  if (traits_.folds && !traits_.readers_overlap)
    return refuse("consistency handler '" + job.topology.consistency.type +
                  "', which folds while its params are read where they are written (its traits have to say "
                  "readers_overlap),");
  DLHOST_TRY(can_have_own_values());
  return param::Table::can_follow(first_plan_, first_plan_, 0, consistency_actor_);
}

Status Seat::can_have_own_values() const {
  if (!first_plan_.update_locally) return {};
  const auto refuse = [&](const auto&... why) {
    return Status::unsupported("consistency '", session_.job().topology.consistency.type,
                               "', whose workers update values of their own, ", why...);
  };
  if (codec_ && first_plan_.send_delta) {
    const Codec::Traits codec = codec_->traits();
    if (!codec.error_feedback && !codec.unbiased && !codec.lossless)
      return refuse("with codec '", session_.job().topology.codec.type,
                    "' and no feedback: what it leaves out of a difference would be lost; set feedback = true");
  }
  if (place_.workers > 1)
    return refuse("with ", place_.workers,
                  " workers a group: each would follow the gradients of its own rows only, and leave the others; take "
                  "topology.workers_per_group = 1 and as many groups");
  if (traits_.joint) return refuse("and whose groups make each update together: not in this version");
  if (!traits_.readers_overlap)
    return refuse("and read the servers' while these are written: its traits have to say readers_overlap");
  return {};
}

Status Seat::can_be_outlived() const {
  if (!outlived()) return {};
  const auto refuse = [&](const auto&... why) {
    return Status::unsupported("topology.replicas = ", session_.job().topology.replicas, why...,
                               ": not in this version; leave it out");
  };
  const std::string& handler = session_.job().topology.consistency.type;
  if (has_far())
    return refuse(" with ", session_.job().topology.machines,
                  " machines, which share no memory that could outlive a worker");
  if (sync_ && !param::GroupSync::gossips(*sync_))
    return refuse(" with ", place_.server_groups, " server groups and sync '", session_.job().topology.sync.type,
                  "', whose exchanges need all of them; those that gossip have it");
  if (traits_.by_step || traits_.folds || (traits_.joint && !in_step_))
    return refuse(" under consistency '", handler, "', which chooses contributions");
  if (!traits_.joint && !traits_.readers_overlap)
    return refuse(" under consistency '", handler, "', whose versions may be half made whenever somebody dies");
  if (first_plan_.update_locally)
    return refuse(" under consistency '", handler, "', whose workers have values of their own");
  if (layout_->coding && layout_->coding->keeps())
    return refuse(" with codec '", session_.job().topology.codec.type,
                  "', of which each worker keeps what is left out");
  return {};
}

} // namespace dlhost::run
