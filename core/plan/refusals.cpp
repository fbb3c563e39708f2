#include "plan/refusals.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "param/table/table.h"
#include "plan/place.h"

namespace dlhost::plan {
namespace {

using From = Refusal::From;
using Handler = Declared::Handler;
using Groups = Exchange::Groups;
using Encodes = Exchange::Encodes;

std::int64_t workers_of_server_group(const config::Topology& topology) {
  return topology.worker_groups / topology.server_groups * topology.workers_per_group;
}

// A job whose devices sum gradients asks for something that only servers do.
bool on_devices(const Asked& asked) { return Place::sums_on_devices(asked.job.topology); }

std::string each_has_all(const Asked& asked) {
  return concat("topology.device_copies = \"none\" with ", Place::seats(asked.job.topology),
                " workers, which have all params for themselves: ");
}

std::string under(const Handler& handler) { return concat("consistency '", handler.named.type, "'"); }

std::string with_replicas(const Asked& asked) { return concat("topology.replicas = ", asked.job.topology.replicas); }

std::string with_sync(const Asked& asked) { return concat("topology.sync = '", asked.job.topology.sync.type, "'"); }

std::string own_values(const Handler& handler) {
  return concat(under(handler), ", whose workers update values of their own, ");
}

bool is_single(const Handler& handler) { return !handler.layer.empty(); }

std::string between(const Asked& asked, const Handler& own, bool of_job, const char* with, const char* without) {
  const Handler& job = asked.declared.job();
  const auto& [has, lacks] = of_job ? std::pair(&job, &own) : std::pair(&own, &job);
  return concat("under '", has->named.type, "' ", with, ", under '", lacks->named.type, "' ", without);
}

bool has_uneven_blocks(const Asked& asked) {
  for (std::uint32_t seat = 0; seat < Place::seats(asked.job.topology); ++seat)
    if (!Place::at(asked.job, seat, asked.exchange).has_whole_blocks()) return true;
  return false;
}

const char* unfollowed(const Asked& asked, const Handler& handler) {
  return param::Table::unfollowed(handler.first, asked.declared.job().first);
}

constexpr const char* agree = "leave it out, or let the two agree in that (topology.consistency)";
constexpr const char* no_replicas = "leave topology.replicas out";

const Refusal table[] = {
    // Counts.
    {From::job, "more server groups than worker groups", "topology.server_groups",
     [](const Asked& a, const Handler&) { return a.job.topology.server_groups > a.job.topology.worker_groups; },
     [](const Asked& a, const Handler&) {
       return concat("topology.server_groups = ", a.job.topology.server_groups, " with ", a.job.topology.worker_groups,
                     " worker groups: each serves one at least");
     },
     "ask for as many at most"},
    {From::job, "more servers than workers", "topology.servers_per_group",
     [](const Asked& a, const Handler&) {
       return a.job.topology.server_groups <= a.job.topology.worker_groups &&
              a.job.topology.servers_per_group > workers_of_server_group(a.job.topology);
     },
     [](const Asked& a, const Handler&) {
       return concat("topology.servers_per_group = ", a.job.topology.servers_per_group, " with ",
                     workers_of_server_group(a.job.topology),
                     a.job.topology.server_groups > 1 ? " workers of a server group" : " workers",
                     ": a server sits beside a worker in this version");
     },
     "ask for as many at most"},
    {From::job, "no sync", "topology.sync",
     [](const Asked& a, const Handler&) {
       return a.job.topology.server_groups > 1 && a.job.topology.sync.type.empty();
     },
     [](const Asked& a, const Handler&) {
       return concat("topology.sync: is missing: it says how ", a.job.topology.server_groups,
                     " server groups exchange what they learn");
     },
     "`dlhost inspect --kind sync` lists the plugins"},
    {From::job, "a sync of nothing", "topology.sync",
     [](const Asked& a, const Handler&) {
       return a.job.topology.server_groups == 1 && !a.job.topology.sync.type.empty();
     },
     [](const Asked&, const Handler&) {
       return std::string("topology.sync: means something only with several server groups");
     },
     "leave it out, or set topology.server_groups"},
    {From::job, "other shares than workers", "topology.batch_shares",
     [](const Asked& a, const Handler&) {
       const config::Topology& topology = a.job.topology;
       return !topology.shares.empty() && std::cmp_not_equal(topology.shares.size(), topology.workers_per_group);
     },
     [](const Asked& a, const Handler&) {
       return concat("topology.batch_shares has ", a.job.topology.shares.size(),
                     " numbers, and topology.workers_per_group is ", a.job.topology.workers_per_group);
     },
     "give one for each worker of a group, or none"},
    {From::job, "more workers than rows", "train.batch",
     [](const Asked& a, const Handler&) { return a.job.topology.workers_per_group > a.job.train.batch; },
     [](const Asked& a, const Handler&) {
       return concat("topology.workers_per_group = ", a.job.topology.workers_per_group, ": a batch of ",
                     a.job.train.batch, " has no row for some of them");
     },
     "make the batch larger"},

    // Gradients that devices sum.
    {From::job, "devices sum, server groups", "topology.device_copies",
     [](const Asked& a, const Handler&) { return on_devices(a) && a.job.topology.server_groups > 1; },
     [](const Asked& a, const Handler&) { return each_has_all(a) + "no server groups exchange what they learn"; },
     "leave topology.server_groups out"},
    {From::job, "devices sum, codec", "topology.device_copies",
     [](const Asked& a, const Handler&) { return on_devices(a) && !a.job.topology.codec.type.empty(); },
     [](const Asked& a, const Handler&) {
       return each_has_all(a) + "nothing is sent that topology.codec could encode";
     },
     "leave it out"},
    {From::job, "devices sum, device of params", "topology.device_copies",
     [](const Asked& a, const Handler&) { return on_devices(a) && !a.job.topology.device.type.empty(); },
     [](const Asked& a, const Handler&) { return each_has_all(a) + "none of them lie on topology.device"; },
     "leave it out"},
    {From::job, "devices sum, two kinds of device", "topology.device_copies",
     [](const Asked& a, const Handler&) { return on_devices(a) && a.job.topology.device_workers > 0; },
     [](const Asked& a, const Handler&) { return each_has_all(a) + "all must compute on one kind of device"; },
     "leave topology.workers_on_device out"},
    {From::job, "devices sum, replicas", "topology.device_copies",
     [](const Asked& a, const Handler&) { return on_devices(a) && a.job.topology.replicas > 1; },
     [](const Asked& a, const Handler&) {
       return each_has_all(a) + "they end with their worker, and the run goes on from its last point";
     },
     no_replicas},
    {From::job, "devices sum, reproducible", "topology.device_copies",
     [](const Asked& a, const Handler&) { return on_devices(a) && a.job.train.reproducible; },
     [](const Asked& a, const Handler&) { return each_has_all(a) + "devices add in an order of their own"; },
     "leave train.reproducible out, or topology.device_copies"},
    {From::workers, "devices sum, not strict", "topology.consistency",
     [](const Asked& a, const Handler& h) {
       return on_devices(a) && (!h.in_step() || !h.whole_versions() || h.traits.by_step || h.first.update_locally);
     },
     [](const Asked& a, const Handler& h) {
       return concat("topology.device_copies = \"none\" with ", Place::seats(a.job.topology), " workers under ",
                     under(h), ": their devices add the gradients of all in each step, which is what 'strict' does");
     },
     "take that one, or leave topology.device_copies out"},

    // A net that computes in f16.
    {From::job, "f16, workers", "train.dtype",
     [](const Asked& a, const Handler&) { return computes_in_f16(a.job) && Place::has_seats(a.job.topology); },
     [](const Asked&, const Handler&) {
       return std::string(
           "a net that computes in f16, whose gradients are scaled, is trained by one worker in this version");
     },
     "take bf16, or one worker (and leave topology.device_copies out)"},
    {From::job, "f16, clip_value", "updater.clip_value",
     [](const Asked& a, const Handler&) { return computes_in_f16(a.job) && a.job.updater.clip_value > 0; },
     [](const Asked&, const Handler&) {
       return std::string("updater.clip_value with a net that computes in f16, whose gradients are scaled");
     },
     "take updater.clip_norm, or bf16"},

    // Handlers of single params, beside the job's.
    {From::any, "handlers, one chooses steps", "topology.consistency",
     [](const Asked& a, const Handler& h) {
       return is_single(h) && (a.declared.job().traits.by_step || h.traits.by_step);
     },
     [](const Asked& a, const Handler& h) {
       const Handler& chooses = h.traits.by_step ? h : a.declared.job();
       return concat("'", chooses.named.type, "' chooses groups for whole steps, so all params need the same handler");
     },
     agree},
    {From::any, "handlers, one joint", "topology.consistency",
     [](const Asked& a, const Handler& h) { return is_single(h) && a.declared.job().traits.joint != h.traits.joint; },
     [](const Asked& a, const Handler& h) {
       return between(a, h, a.declared.job().traits.joint, "all groups' contributions make an update together",
                      "each group's contribution makes its own update, and losses are divided otherwise");
     },
     agree},
    {From::any, "handlers, one in step", "topology.consistency",
     [](const Asked& a, const Handler& h) {
       return is_single(h) && a.declared.job().traits.joint == h.traits.joint &&
              a.declared.job().in_step() != h.in_step();
     },
     [](const Asked& a, const Handler& h) {
       return between(a, h, a.declared.job().in_step(), "all groups make each step together",
                      "each group goes at its own pace");
     },
     agree},
    {From::any, "handlers, one of whole versions", "topology.consistency",
     [](const Asked& a, const Handler& h) {
       const Handler& job = a.declared.job();
       return is_single(h) && !job.traits.by_step && !h.traits.by_step && job.traits.joint == h.traits.joint &&
              job.in_step() == h.in_step() && job.whole_versions() != h.whole_versions();
     },
     [](const Asked& a, const Handler& h) {
       return between(a, h, a.declared.job().whole_versions(), "each version has all contributions to a step",
                      "a version may lack some");
     },
     agree},
    {From::any, "handlers, one of own values", "topology.consistency",
     [](const Asked& a, const Handler& h) {
       return is_single(h) && a.declared.job().first.update_locally != h.first.update_locally;
     },
     [](const Asked& a, const Handler& h) {
       return between(a, h, a.declared.job().first.update_locally, "workers have values of their own",
                      "they read those of the servers");
     },
     agree},
    {From::any, "handlers, one of differences", "topology.consistency",
     [](const Asked& a, const Handler& h) {
       return is_single(h) && a.declared.job().first.update_locally == h.first.update_locally &&
              a.declared.job().first.send_delta != h.first.send_delta;
     },
     [](const Asked& a, const Handler& h) {
       return between(a, h, a.declared.job().first.send_delta, "workers send differences", "they send gradients");
     },
     agree},

    // Demands of handlers.
    {From::workers, "timer", "topology.consistency", [](const Asked&, const Handler& h) { return h.has_timer; },
     [](const Asked&, const Handler& h) {
       return concat("consistency handler '", h.named.type,
                     "', which asks to be called later, with several workers: not in this version");
     },
     "choose another handler, or train with one worker"},
    {From::workers, "folds in place", "topology.consistency",
     [](const Asked&, const Handler& h) { return h.traits.folds && !h.traits.readers_overlap; },
     [](const Asked&, const Handler& h) {
       return concat("consistency handler '", h.named.type,
                     "', which folds while its params are read in place: not in this version");
     },
     "its traits must declare readers_overlap"},
    {From::workers, "plan", "topology.consistency",
     [](const Asked& a, const Handler& h) { return unfollowed(a, h) != nullptr; },
     [](const Asked& a, const Handler& h) { return param::Table::why_not(h.named.type, unfollowed(a, h), 0); },
     param::Table::other_handler},
    {From::workers, "own values, codec", "topology.codec",
     [](const Asked& a, const Handler& h) {
       return h.first.update_locally && h.first.send_delta && a.exchange.encodes == Encodes::contributions &&
              !a.declared.codec_loses_nothing();
     },
     [](const Asked& a, const Handler& h) {
       return concat(own_values(h), "with codec '", a.job.topology.codec.type,
                     "' and no feedback: the error of an encoded difference would be lost");
     },
     "set feedback = true"},
    {From::workers, "own values, workers of a group", "topology.workers_per_group",
     [](const Asked& a, const Handler& h) { return h.first.update_locally && a.job.topology.workers_per_group > 1; },
     [](const Asked& a, const Handler& h) {
       return concat(own_values(h), "with ", a.job.topology.workers_per_group,
                     " workers a group: each would follow the gradients of its own rows only, and leave the others");
     },
     "take topology.workers_per_group = 1 and as many groups"},
    {From::workers, "own values, joint", "topology.consistency",
     [](const Asked&, const Handler& h) { return h.first.update_locally && h.traits.joint; },
     [](const Asked&, const Handler& h) {
       return concat(own_values(h), "and whose groups make each update together: not in this version");
     },
     "choose another handler"},
    {From::workers, "own values, read in place", "topology.consistency",
     [](const Asked&, const Handler& h) { return h.first.update_locally && !h.traits.readers_overlap; },
     [](const Asked&, const Handler& h) {
       return concat(own_values(h), "and read the servers' while these are written");
     },
     "its traits must declare readers_overlap"},

    // The same bits with any number of workers.
    {From::workers, "reproducible, pace", "train.reproducible",
     [](const Asked& a, const Handler&) { return a.job.train.reproducible && !a.exchange.in_step; },
     [](const Asked& a, const Handler&) {
       return concat("train.reproducible under ", under(a.declared.job()),
                     ", where updates are made in the order in which they come");
     },
     "take 'strict', or leave train.reproducible out"},
    {From::workers, "reproducible, norm", "train.reproducible",
     [](const Asked& a, const Handler&) { return a.job.train.reproducible && a.job.largest_norm() > 0; },
     [](const Asked&, const Handler&) {
       return std::string("train.reproducible with updater.clip_norm or record.gradient_norm, whose squares are added "
                          "server by server, with several workers: not in this version");
     },
     "leave one of them out, or train with one worker"},
    {From::workers, "reproducible, codec", "train.reproducible",
     [](const Asked& a, const Handler&) { return a.job.train.reproducible && a.declared.codec.has_value(); },
     [](const Asked&, const Handler&) {
       return std::string("train.reproducible with topology.codec, which each worker's contributions go through for "
                          "themselves");
     },
     "leave one of them out"},
    {From::workers, "reproducible, blocks", "train.reproducible",
     [](const Asked& a, const Handler&) {
       return a.job.train.reproducible && !a.declared.sync && a.exchange.in_step && has_uneven_blocks(a);
     },
     [](const Asked& a, const Handler&) {
       return concat("train.reproducible: the ", Place::at(a.job, 0, a.exchange).global_batch,
                     " samples of an update are summed in ", Place::blocks, " blocks, which ",
                     Place::seats(a.job.topology), " workers cannot share equally");
     },
     "take 2, 4 or 8 workers, and a batch that is a multiple of 8"},
    {From::workers, "reproducible, server groups", "train.reproducible",
     [](const Asked& a, const Handler&) { return a.job.train.reproducible && a.declared.sync.has_value(); },
     [](const Asked& a, const Handler&) {
       return concat("train.reproducible with topology.server_groups = ", a.job.topology.server_groups,
                     ", each of which makes updates of its own");
     },
     "leave one of them out"},

    // Server groups.
    {From::workers, "gossip, in step", "topology.sync",
     [](const Asked& a, const Handler&) { return a.exchange.groups == Groups::gossip && a.exchange.in_step; },
     [](const Asked& a, const Handler&) {
       return concat(with_sync(a), " under ", under(a.declared.job()),
                     ", whose groups make each step together: where groups gossip no group waits");
     },
     "choose another one of the two"},
    {From::workers, "alike, every", "topology.sync",
     [](const Asked& a, const Handler&) { return a.exchange.alike() && a.declared.sync->traits.every != 1; },
     [](const Asked& a, const Handler&) {
       return concat(with_sync(a), " of gradients or contributions every ", a.declared.sync->traits.every,
                     " updates: these are exchanged before each");
     },
     "leave `every` out, or exchange params"},
    {From::workers, "alike, pace", "topology.sync",
     [](const Asked& a, const Handler& h) { return a.exchange.alike() && !h.in_step(); },
     [](const Asked& a, const Handler& h) {
       return concat(with_sync(a), " of gradients or contributions under ", under(h),
                     ", whose groups do not make each step together");
     },
     "take one that does (strict), or exchange params (of = \"params\")"},
    {From::workers, "codec for exchanges, one group", "topology.codec_for",
     [](const Asked& a, const Handler&) {
       return a.declared.codec && a.job.topology.codec_of == config::CodecOf::exchanges && !a.declared.sync;
     },
     [](const Asked&, const Handler&) {
       return std::string("topology.codec_for = \"exchanges\": there is one server group, which exchanges nothing");
     },
     "leave it out, or set topology.server_groups"},
    {From::workers, "codec for exchanges, contributions", "topology.codec_for",
     [](const Asked& a, const Handler&) {
       return a.exchange.encodes == Encodes::exchanges && a.exchange.groups == Groups::contributions;
     },
     [](const Asked& a, const Handler&) {
       return concat("topology.codec_for = \"exchanges\": sync '", a.job.topology.sync.type,
                     "' of contributions exchanges nothing else");
     },
     "leave it out"},
    {From::workers, "codec for exchanges, gossip", "topology.codec_for",
     [](const Asked& a, const Handler&) {
       return a.exchange.encodes == Encodes::exchanges && a.exchange.groups == Groups::gossip;
     },
     [](const Asked& a, const Handler&) {
       return concat("topology.codec_for = \"exchanges\": sync '", a.job.topology.sync.type,
                     "' gossips, and is exact by that");
     },
     "leave it out, and what workers send is encoded"},
    {From::workers, "codec for exchanges, loses", "topology.codec",
     [](const Asked& a, const Handler&) {
       return a.exchange.encodes == Encodes::exchanges && a.exchange.groups == Groups::values &&
              !a.declared.codec_loses_nothing();
     },
     [](const Asked& a, const Handler&) {
       return concat("topology.codec_for = \"exchanges\": what codec '", a.job.topology.codec.type,
                     "' leaves out of what was learned would be lost");
     },
     "set feedback = true"},

    // Versions that outlive their servers.
    {From::workers, "replicas, machines", "topology.replicas",
     [](const Asked& a, const Handler&) { return a.exchange.versions_outlive && a.job.topology.machines > 1; },
     [](const Asked& a, const Handler&) {
       return with_replicas(a) + " with several machines, which share no memory that could outlive a worker";
     },
     no_replicas},
    {From::workers, "replicas, server groups", "topology.replicas",
     [](const Asked& a, const Handler&) {
       return a.exchange.versions_outlive && a.declared.sync && !a.declared.sync->gossips;
     },
     [](const Asked& a, const Handler&) {
       return concat(with_replicas(a), " with ", a.job.topology.server_groups, " server groups and sync '",
                     a.job.topology.sync.type, "', whose exchanges need all of them; those that gossip have it");
     },
     no_replicas},
    {From::workers, "replicas, joint folds", "topology.replicas",
     [](const Asked& a, const Handler& h) { return a.exchange.versions_outlive && h.traits.joint && h.traits.folds; },
     [](const Asked& a, const Handler& h) {
       return concat(with_replicas(a), " under ", under(h),
                     ", which chooses groups for whole steps and folds in late contributions, in some slices sooner "
                     "than in others");
     },
     no_replicas},
    {From::workers, "replicas, joint at own pace", "topology.replicas",
     [](const Asked& a, const Handler& h) {
       return a.exchange.versions_outlive && h.traits.joint && !h.traits.folds && !h.traits.by_step && !h.in_step();
     },
     [](const Asked& a, const Handler& h) {
       return concat(with_replicas(a), " under ", under(h), ", whose groups contribute jointly, each at its own pace");
     },
     no_replicas},
    {From::workers, "replicas, written in place", "topology.replicas",
     [](const Asked& a, const Handler& h) {
       return a.exchange.versions_outlive && !h.traits.joint && !h.traits.readers_overlap;
     },
     [](const Asked& a, const Handler& h) {
       return concat(with_replicas(a), " under ", under(h), ", whose versions may be half made when a worker dies");
     },
     no_replicas},
    {From::workers, "replicas, late residuals", "topology.replicas",
     [](const Asked& a, const Handler& h) {
       return a.exchange.versions_outlive && a.declared.codec_keeps && !(h.traits.joint && h.traits.folds) &&
              (h.traits.by_step || h.traits.folds);
     },
     [](const Asked& a, const Handler& h) {
       return concat(with_replicas(a), " under ", under(h),
                     ", which leaves contributions out or folds them in, with codec '", a.job.topology.codec.type,
                     "', whose residual each worker keeps: it would have to go back several steps");
     },
     no_replicas},
    {From::workers, "replicas, residuals of differences", "topology.replicas",
     [](const Asked& a, const Handler&) {
       return a.exchange.versions_outlive && a.declared.codec_keeps && a.exchange.differences;
     },
     [](const Asked& a, const Handler& h) {
       return concat(with_replicas(a), " under ", under(h),
                     ", whose workers begin with the servers' values, with codec '", a.job.topology.codec.type,
                     "', whose residual each worker keeps for itself");
     },
     no_replicas},

    // Nets.
    {From::net, "summed state", "topology", [](const Asked& a, const Handler&) { return a.net.sums_state; },
     [](const Asked&, const Handler&) {
       return std::string("running state that is summed over workers, with several workers: not in this version");
     },
     "train with one worker"},
    {From::net, "carried state", "topology", [](const Asked& a, const Handler&) { return a.net.carries; },
     [](const Asked&, const Handler&) {
       return std::string("what layers carry from batch to batch, with several workers: not in this version");
     },
     "train with one worker"},
};

std::string told(const Refusal& row, const Asked& asked, const Handler& handler) {
  return concat(row.why(asked, handler), "; ", row.remedy);
}

void check(const Asked& asked, From from, config::Problems& problems) {
  std::vector<std::string> refused; // later steps conclude nothing from these keys
  for (const Refusal& row : table) {
    if (row.from != from || problems.refused(row.key)) continue;
    for (const Handler& handler : asked.declared.handlers) {
      if (!row.is_asked(asked, handler)) continue;
      if (is_single(handler) && row.key == std::string_view("topology.consistency")) {
        problems.of_layer(handler.layer, handler.where, "param.", handler.param,
                          ".consistency = ", detail::written(handler.named), ": ", told(row, asked, handler));
      } else {
        problems.add(asked.job.place(row.key), told(row, asked, handler));
        refused.emplace_back(row.key);
      }
      break;
    }
  }
  for (std::string& key : refused) problems.refuse(std::move(key));
}

} // namespace

std::span<const Refusal> refusals() { return table; }

bool computes_in_f16(const config::Job& job) {
  const auto is_f16 = [](const config::Layer& layer) { return layer.dtype == DType::f16; };
  return job.train.dtype == DType::f16 || std::ranges::any_of(job.layers, is_f16);
}

void check_topology(const config::Job& job, config::Problems& problems) {
  for (const char* key : {"framework", "worker_groups", "workers_per_group", "server_groups", "servers_per_group"})
    if (problems.refused(concat("topology.", key))) return; // the counts are not known
  check({job, Declared(), Exchange()}, From::job, problems);
}

void check_exchange(const config::Job& job, const Declared& declared, const Exchange& exchange,
                    config::Problems& problems) {
  check({job, declared, exchange}, From::any, problems);
  if (exchange.sums != Exchange::Sums::alone) check({job, declared, exchange}, From::workers, problems);
}

Status check_net(const Asked& asked) {
  for (const Refusal& row : table)
    if (row.from == From::net && row.is_asked(asked, asked.declared.job()))
      return Status::unsupported(told(row, asked, asked.declared.job()));
  return {};
}

} // namespace dlhost::plan
