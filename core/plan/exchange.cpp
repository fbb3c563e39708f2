#include "plan/exchange.h"

#include "plan/place.h"

namespace dlhost::plan {
namespace {

using Groups = Exchange::Groups;
using Encodes = Exchange::Encodes;

Exchange::Sums sums_of(const config::Topology& topology) {
  if (!Place::has_seats(topology)) return Exchange::Sums::alone;
  return Place::sums_on_devices(topology) ? Exchange::Sums::devices : Exchange::Sums::servers;
}

Groups groups_of(const Declared& declared) {
  using Of = Sync::Traits::Of;
  if (!declared.sync) return Groups::one;
  switch (declared.sync->traits.of) {
  case Of::gradients: return Groups::gradients;
  case Of::contributions: return Groups::contributions;
  case Of::learned: break;
  }
  return declared.sync->gossips ? Groups::gossip : Groups::values;
}

Encodes encodes_of(config::CodecOf of, const Declared& declared, Groups groups) {
  if (!declared.codec) return Encodes::nothing;
  const bool exchanges =
      of == config::CodecOf::automatic ? groups == Groups::gradients : of == config::CodecOf::exchanges;
  return exchanges && declared.sync ? Encodes::exchanges : Encodes::contributions;
}

} // namespace

Exchange Exchange::of(const config::Job& job, const Declared& declared) {
  const config::Topology& topology = job.topology;
  const Declared::Handler& handler = declared.job();
  Exchange exchange{.sums = sums_of(topology),
                    .joint = handler.traits.joint,
                    .in_step = handler.in_step(),
                    .by_step = handler.traits.by_step,
                    .chooses_steps = handler.traits.by_step && !handler.traits.folds,
                    .whole_versions = handler.whole_versions(),
                    .folds = declared.any(&Consistency::Traits::folds),
                    .may_be_late =
                        declared.any(&Consistency::Traits::folds) || declared.any(&Consistency::Traits::may_drop),
                    .groups = groups_of(declared),
                    .own_values = handler.first.update_locally,
                    .differences = handler.first.send_delta,
                    .versions_outlive = topology.replicas > 1};
  exchange.encodes = encodes_of(topology.codec_of, declared, exchange.groups);
  // No server has a lost worker's own values, or the rest that its codec kept.
  const bool keeps = exchange.workers_keep() || (declared.codec && declared.codec->error_feedback);
  exchange.groups_go_on = exchange.groups == Groups::gossip && topology.machines == 1 && !exchange.joint &&
                          !exchange.by_step && !keeps && job.recovery.restarts > 0;
  exchange.sends_alike = exchange.in_step && !declared.sync && !declared.codec && !exchange.own_values;
  return exchange;
}

std::string_view word(Exchange::Sums sums) {
  switch (sums) {
  case Exchange::Sums::alone: return "the worker";
  case Exchange::Sums::servers: return "servers";
  case Exchange::Sums::devices: return "devices";
  }
  return "";
}

std::string_view word(Groups groups) {
  switch (groups) {
  case Groups::one: return "nothing";
  case Groups::values: return "what they learned, all together";
  case Groups::gossip: return "what they learned, from neighbour to neighbour";
  case Groups::gradients: return "the gradients of each version";
  case Groups::contributions: return "the contributions of all workers";
  }
  return "";
}

std::string_view word(Encodes encodes) {
  switch (encodes) {
  case Encodes::nothing: return "nothing";
  case Encodes::contributions: return "what workers send";
  case Encodes::exchanges: return "what server groups exchange";
  }
  return "";
}

} // namespace dlhost::plan
