// What several workers do not do in this version, or not together: said before anything is made.
#include <algorithm>
#include <tuple>

#include "run/worker/seat.h"

namespace dlhost::run {

Status Seat::supported(const param::Store& store) const {
  const config::Job& job = session_.job();
  const auto refuse = [&](const std::string& what) {
    return Status::unsupported(what, " with several workers: not in this version; train with one");
  };
  if (std::ranges::any_of(store.states(), [](const auto& state) { return state->merge == Merge::sum; }))
    return refuse("running state that is summed over workers");
  if (store.carries()) return refuse("what layers carry from batch to batch");
  if (job.train.reproducible && !in_step_)
    return refuse("train.reproducible under consistency '" + job.topology.consistency.type +
                  "', where updates are made in the order in which they come,");
  if (job.train.reproducible && job.largest_norm() > 0)
    return refuse(
        "train.reproducible with updater.clip_norm or record.gradient_norm, whose squares are added server by server,");
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
  DLHOST_TRY(can_sum_on_devices());
  DLHOST_TRY(can_be_alike());
  DLHOST_TRY(can_encode_exchanges());
  for (const Agreement::One& one : agreement_->all()) {
    if (one.consistency->next_timer({}) != 0)
      return refuse("consistency handler '" + one.named.type + "', which wants to be called after a while,");
    if (one.traits.folds && !one.traits.readers_overlap)
      return refuse("consistency handler '" + one.named.type +
                    "', which folds while its params are read where they are written (its traits have to say "
                    "readers_overlap),");
    DLHOST_TRY(can_have_own_values(one));
    DLHOST_TRY(param::Table::can_follow(one.first, first_plan_, 0, one.actor));
  }
  return {};
}

Status Seat::can_be_alike() const {
  if (!groups_are_alike()) return {};
  const config::Topology& topology = session_.job().topology;
  if (sync_->traits().every != 1)
    return Status::invalid("topology.sync = '", topology.sync.type, "' of gradients or contributions every ",
                           sync_->traits().every,
                           " updates: these are exchanged before each; leave `every` out, or exchange params");
  for (const Agreement::One& one : agreement_->all())
    if (!one.in_step())
      return Status::unsupported("topology.sync = '", topology.sync.type,
                                 "' of gradients or contributions under consistency '", one.named.type,
                                 "', whose groups do not make each step together: take one that does (strict), or "
                                 "exchange params (of = \"params\")");
  return {};
}

Status Seat::can_have_own_values(const Agreement::One& one) const {
  if (!one.first.update_locally) return {};
  const auto refuse = [&](const auto&... why) {
    return Status::unsupported("consistency '", one.named.type, "', whose workers update values of their own, ",
                               why...);
  };
  if (codec_ && !encodes_exchanges() && one.first.send_delta) {
    const Codec::Traits codec = codec_->traits();
    if (!codec.error_feedback && !codec.unbiased && !codec.lossless)
      return refuse("with codec '", session_.job().topology.codec.type,
                    "' and no feedback: what it leaves out of a difference would be lost; set feedback = true");
  }
  if (place_.workers > 1)
    return refuse("with ", place_.workers,
                  " workers a group: each would follow the gradients of its own rows only, and leave the others; take "
                  "topology.workers_per_group = 1 and as many groups");
  if (one.traits.joint) return refuse("and whose groups make each update together: not in this version");
  if (!one.traits.readers_overlap)
    return refuse("and read the servers' while these are written: its traits have to say readers_overlap");
  return {};
}

Status Seat::can_be_outlived() const {
  if (!outlived()) return {};
  const auto refuse = [&](const auto&... why) {
    return Status::unsupported("topology.replicas = ", session_.job().topology.replicas, why..., "; leave it out");
  };
  if (has_far()) return refuse(" with several machines, which share no memory that could outlive a worker");
  if (sync_ && !param::GroupSync::gossips(*sync_))
    return refuse(" with ", place_.server_groups, " server groups and sync '", session_.job().topology.sync.type,
                  "', whose exchanges need all of them; those that gossip have it");
  for (const Agreement::One& one : agreement_->all()) {
    const auto& [named, traits] = std::tie(one.named, one.traits);
    if (traits.joint && traits.folds)
      return refuse(" under consistency '", named.type,
                    "', which chooses groups for whole steps and folds in what is late, in some slices sooner than in "
                    "others");
    if (traits.joint && !traits.by_step && !in_step_)
      return refuse(" under consistency '", named.type, "', whose groups contribute jointly, each at its own pace");
    if (!traits.joint && !traits.readers_overlap)
      return refuse(" under consistency '", named.type, "', whose versions may be half made whenever somebody dies");
    if (!layout_->coding || !layout_->coding->keeps()) continue;
    const std::string& codec = session_.job().topology.codec.type;
    if (traits.by_step || traits.folds)
      return refuse(" under consistency '", named.type,
                    "', which leaves contributions out or folds them in, with codec '", codec,
                    "', of which each worker keeps what is left out: that would have to go back several steps");
    if (first_plan_.send_delta)
      return refuse(" under consistency '", named.type, "', whose workers begin with the servers' values, with codec '",
                    codec, "', of which each keeps what is left out of its own");
  }
  return {};
}

} // namespace dlhost::run
