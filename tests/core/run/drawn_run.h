// A whole run drawn from a seed: workers, handler, sync, codec, and faults with their times. In each run, each sample
// is in the params as often as it was trained on, and the ledgers agree.
#pragma once

#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include <dlhost/random.h>

#include "simulated.h"

namespace dlhost::test {

class DrawnRun {
 public:
  explicit DrawnRun(std::uint64_t seed) : random_({seed, 0}, 0, 0) {
    spec = {.seed = seed, .longest = 600'000'000'000};
    const std::int64_t groups = 1 + below(4), batch = groups == 4 ? 6 : 12; // so that steps make whole epochs
    handler_ = one_of({"strict", "strict", "bounded", "eventual", "hogwild", "elastic", "first_t", "backup", "folds",
                       "folds", "by_slice", "pushes"});
    const bool own_values = handler_ == "elastic" || handler_ == "pushes";
    const std::int64_t workers = own_values ? 1 : 1 + below(groups > 2 ? 2 : 3);
    const std::int64_t server_groups = 1 + below(groups), served = groups / server_groups * workers;
    set = {concat("train.batch=", batch),
           concat("topology.worker_groups=", groups),
           concat("topology.workers_per_group=", workers),
           concat("topology.server_groups=", server_groups),
           concat("topology.servers_per_group=", 1 + below(served)),
           concat("topology.slice_elements=", one_of({"16", "24", "1000"})),
           concat("recovery.every={ steps = ", 2 + below(7), " }"),
           "topology.consistency=" + consistency()};
    const std::string exchange = server_groups > 1 ? sync() : "";
    if (server_groups > 1) set.push_back("topology.sync=" + exchange);
    const bool encoded = groups * workers > 1 && below(4) == 0;
    if (encoded) {
      set.insert(set.end(), {"topology.codec_elements=1", "topology.codec={ type = \"top_k\", share = 0.02 }"});
      const bool exchanges = !exchange.empty() && exchange.find("gossip") == std::string::npos &&
                             exchange.find("contributions") == std::string::npos;
      if (exchanges && below(2) == 0) set.push_back("topology.codec_for=\"exchanges\"");
      of_exchanges_ = set.back().starts_with("topology.codec_for") && exchange.find("of = ") == std::string::npos;
    }
    const bool keeps = handler_ == "strict" || handler_ == "bounded" || handler_ == "eventual" || handler_ == "pushes";
    const bool outlived = keeps || (!encoded && handler_ != "hogwild" && handler_ != "folds");
    const bool alike = server_groups == 1 || exchange.find("gossip") != std::string::npos;
    const bool twice = outlived && alike && below(2) == 0;
    if (twice) set.push_back("topology.replicas=2");
    if (!twice && below(3) == 0)
      set.push_back(concat("topology.machines=", 1 + below(std::min<std::int64_t>(groups * workers, 4))));
    if (groups * workers > 1) spec.kills = below(4);
    if (below(4) == 0) spec.stops = 1 + below(2);
    if (groups * workers > 1 && below(3) == 0) spec.cuts = 1 + below(2);
    if (groups * workers > 1 && below(4) == 0) spec.lost = 2000 + below(8000);
    if (groups * workers > 1 && below(4) == 0) spec.doubled = 2 + below(100);
    // After scaling, groups with their own pace restart together, and a codec's remainder is dropped.
    if (handler_ == "strict" && workers > 1 && !encoded && below(2) == 0) spec.scales = 1 + below(3);
    const bool folds = handler_ == "folds" || handler_ == "by_slice";
    // The values after a warm-up are also in a worker's own values, and would be counted twice.
    if (groups > 1 && !folds && handler_ != "elastic" && (!encoded || workers == 1) && below(4) == 0)
      set.push_back(concat("topology.warmup_steps=", 1 + below(12)));
    spec.within = Nanoseconds{20 + below(150)} * 1'000'000;
    if (below(2) == 0) spec.transport.options.entries.emplace_back("most", Value{0.002, {}});
    product = below(3) == 0;
    if (product) set.push_back("topology.gradient_factors=on");
    const bool of_one_version = exchange.find("of = ") != std::string::npos; // its handlers all work in lockstep
    if (below(3) == 0 && !of_one_version) beside = other_handler();
    if (groups * workers > 1 && below(4) == 0) spec.reordered = 1000 + below(8000);
    if (below(3) == 0) spec.ends = 1 + below(2);
    if (!exchange.empty() && below(2) == 0) set.push_back("topology.exchange_memory=1");
    // Many workers send many messages between two points, and a cut outlasts several attempts.
    if (spec.lost > 0 || spec.reordered > 0 || spec.cuts > 0) set.push_back("recovery.restarts=100");
  }

  // The fault of that run, which may be smaller than the drawn one. Empty: none.
  std::string complaint(const tools::Simulated& run, const config::Job& job) const {
    if (!run.status.ok()) return "status: " + run.status.message();
    if (!run.audit.faults.empty()) return "audit: " + run.audit.faults.front();
    if (const std::string lacks = lacks_of_others(run.audit); !lacks.empty()) return "audit: " + lacks;
    if (const std::string differs = differs_elsewhere(run); !differs.empty()) return "groups: " + differs;
    if (const std::string again = made_again(run, job); !again.empty()) return again;
    if (handler_ == "first_t" || handler_ == "backup") return complaint_of_dropping(run, job);
    // The workers' own progress is then unknown as well.
    if (handler_ == "elastic" && job.topology.replicas > 1) return "";
    if (handler_ == "folds" || handler_ == "by_slice") return complaint_of_folding(run, job);
    for (const auto& [param, sums] : run.params)
      if (const std::string wrong = complaint_of(param, sums, run, job); !wrong.empty()) return wrong;
    return "";
  }

  std::vector<std::string> set;
  tools::SimulationSpec spec;
  bool product = false; // counts with a product's gradient
  std::string beside;   // the handler of a second counting param; empty: none

 private:
  std::string complaint_of(const std::string& param, const std::vector<float>& sums, const tools::Simulated& run,
                           const config::Job& job) const {
    const std::int64_t warm = std::min(job.topology.warmup_steps, job.train.stop.steps); // of one group
    const auto all =
        static_cast<float>(job.train.batch * (warm + (job.train.stop.steps - warm) * job.topology.worker_groups));
    const float each = all / static_cast<float>(sums.size());
    // The remainder is of differences, or of gradients, which count downward.
    const float left_out = handler_ == "elastic" || of_exchanges_ ? 1 : -1;
    float sum = 0;
    for (std::size_t sample = 0; sample < sums.size(); ++sample) {
      float times = sums[sample];
      for (const auto& worker : run.own_values)
        for (const auto& [name, values] : worker)
          if (name.starts_with(param)) times += name.ends_with("error") ? left_out * values[sample] : values[sample];
      if (each == std::floor(each) && times != each) // whole epochs
        return fmt::format("tally: sample {} counts {} times, not {}", sample, times, each);
      sum += times;
    }
    return sum == all ? "" : fmt::format("tally: {} samples of {} count, not {}", sum, param, all);
  }
  // If servers' work survives deaths, a run continues where it was, except for the leader's current step.
  std::string made_again(const tools::Simulated& run, const config::Job& job) const {
    if (handler_ != "strict" && handler_ != "bounded" && handler_ != "eventual") return "";
    if (job.topology.replicas == 1 || spec.kills > 1 || spec.cuts > 0 || spec.stops > 0 || spec.ends > 0) return "";
    if (spec.lost > 0 || spec.reordered > 0) return "";
    std::size_t all = 0;
    std::set<std::uint64_t> steps;
    for (const auto& measured : run.measured)
      if (measured.phase == Phase::train) ++all, steps.insert(measured.step);
    const std::size_t again = all - steps.size();
    return again <= run.recoveries ? ""
                                   : fmt::format("{} steps were made again, in {} recoveries", again, run.recoveries);
  }
  // At the end every server group has the work of all others.
  static std::string lacks_of_others(const tools::Audit& audit) {
    for (const auto& slice : audit.slices) {
      const auto learned = audit.learned(slice, slice.last);
      std::size_t group = 0;
      for (const auto& other : audit.slices) {
        if (other.id != slice.id) continue;
        if (learned[group] != other.last)
          return fmt::format("slice {} of server {} has what server {} made up to version {}, of {}", slice.id,
                             slice.server, other.server, learned[group], other.last);
        ++group;
      }
    }
    return "";
  }
  // Late contributions are dropped and counted. Each of a worker's steps, up to the last decided one, is in a version
  // or dropped, once. A version is made as if all had contributed. With replicas, a death may leave steps undecided
  // that only a part of a group had sent.
  static std::string complaint_of_dropping(const tools::Simulated& run, const config::Job& job) {
    const config::Topology& topology = job.topology;
    std::map<std::uint32_t, double> versions; // of each server group, over all that it serves
    for (const auto& slice : run.audit.slices)
      for (std::size_t c = 0; c < run.audit.contributors; ++c) {
        const auto place = plan::Place::at(job, static_cast<std::uint32_t>(c));
        if (slice.server / topology.servers_per_group != place.server_group) continue;
        versions[place.server_group] =
            static_cast<double>(slice.last) * static_cast<double>(job.train.batch * place.served);
        std::map<std::uint64_t, int> decided; // times by step
        for (const auto& word : slice.words)
          for (const auto& part : word.parts)
            if (part.contributor == c)
              for (std::uint64_t i = 0; i < std::max<std::uint64_t>(word.count, 1); ++i) ++decided[part.step + i];
        for (const auto& part : run.audit.dropped)
          if (part.contributor == c) ++decided[part.step];
        // After a warm-up of one group, the others begin at that step.
        std::uint64_t next = topology.warmup_steps > 0 && !decided.empty() ? decided.begin()->first : 0;
        const bool all_of_them = topology.replicas == 1 || run.recoveries + run.ended == 0;
        for (const auto& [step, times] : decided) {
          if (times > 1 || (step != next && all_of_them))
            return fmt::format(
                "audit: step {} of worker {} is decided about {} times in slice {}, where step {} is next", step, c,
                times, slice.id, next);
          next = step + 1;
        }
      }
    if (const std::string wrong = complaint_of_arrivals(run, job); !wrong.empty()) return wrong;
    if (versions.empty() || topology.warmup_steps > 0 || !topology.codec.type.empty()) return "";
    double all = 0, sum = 0;
    for (const auto& [group, samples] : versions) all += samples;
    for (const float times : run.params.begin()->second) sum += static_cast<double>(times);
    return std::abs(sum - all) < 0.01 ? "" : fmt::format("tally: {} samples count, not {}", sum, all);
  }
  // Only if the leader has the chooser that counts arrivals, and no chooser preceded it.
  static std::string complaint_of_arrivals(const tools::Simulated& run, const config::Job& job) {
    const config::Topology& topology = job.topology;
    if (topology.server_groups > 1 || topology.warmup_steps > 0 || run.recoveries > 0) return "";
    if (run.audit.begun != 1) return "";
    const auto of_a_group = [&](std::uint64_t parts) {
      return parts / static_cast<std::uint64_t>(topology.workers_per_group);
    };
    std::uint64_t made = 0;
    for (std::size_t c = 0; c < run.audit.contributors; ++c)
      made += tools::Audit::contributions(run.audit.slices.front(), c);
    const auto [came, late] = run.outcome.arrivals;
    const std::uint64_t dropped = of_a_group(run.audit.dropped.size()), waits = came - late - of_a_group(made);
    if (late == dropped && waits < static_cast<std::uint64_t>(topology.worker_groups)) return "";
    return fmt::format("arrivals: {} came, of these {} late, where {} were dropped and {} made versions", came, late,
                       dropped, of_a_group(made));
  }
  // Late contributions are folded in: each contribution of a worker is in, once, from the first step to the last. If
  // whole steps are chosen, only the leader's last step is known. If slices are chosen, a contribution counts by its
  // group's share of its server group's work.
  std::string complaint_of_folding(const tools::Simulated& run, const config::Job& job) const {
    const config::Topology& topology = job.topology;
    const auto counts = [&](const plan::Place& place) { return handler_ == "by_slice" ? 1.0 / place.served : 1.0; };
    const bool alone = plan::Place::seats(topology) == 1; // keeps no ledger
    double all = alone ? static_cast<double>(job.train.stop.steps * job.train.batch) : 0;
    for (std::size_t c = 0; c < run.audit.contributors; ++c) {
      const auto place = plan::Place::at(job, static_cast<std::uint32_t>(c));
      for (const auto& slice : run.audit.slices) {
        if (slice.server / topology.servers_per_group != place.server_group) continue;
        const std::uint64_t in = tools::Audit::contributions(slice, c), last = last_step(slice, c);
        if (in != last) return fmt::format("audit: of worker {} {} contributions are in, of {}", c, in, last);
        if ((handler_ == "by_slice" || place.group == 0) && in != static_cast<std::uint64_t>(job.train.stop.steps))
          return fmt::format("audit: of worker {} {} contributions are in, and it made more", c, in);
        all += static_cast<double>(in) * static_cast<double>(place.rows) * counts(place);
      }
    }
    double sum = 0;
    for (const float times : run.params.begin()->second) sum += static_cast<double>(times);
    for (std::size_t c = 0; c < run.own_values.size(); ++c) // the codecs' remainders
      for (const auto& [name, values] : run.own_values[c])
        for (const float value : values)
          sum += (of_exchanges_ ? 1 : -counts(plan::Place::at(job, static_cast<std::uint32_t>(c)))) *
                 static_cast<double>(value);
    return std::abs(sum - all) < 0.01 ? "" : fmt::format("tally: {} samples count, not {}", sum, all);
  }
  // The number of the contributor's steps up to its last one.
  static std::uint64_t last_step(const tools::Audit::Slice& slice, std::size_t contributor) {
    std::uint64_t last = 0;
    for (const auto& word : slice.words)
      for (const auto& part : word.parts)
        if (part.contributor == contributor) last = std::max(last, part.step + std::max<std::uint64_t>(word.count, 1));
    return last;
  }

  std::int64_t below(std::int64_t n) { return random_.below(static_cast<std::uint32_t>(n)); }
  std::string one_of(std::initializer_list<const char*> what) {
    return what.begin()[below(static_cast<std::int64_t>(what.size()))];
  }
  // A handler that has the same steps as the run's.
  std::string other_handler() {
    if (handler_ == "elastic") return "{ type = \"elastic\", alpha = 0.5, every = 12 }";
    if (handler_ == "pushes") return "{ type = \"eventual\", push = 3, fetch = 2 }";
    if (handler_ == "bounded" || handler_ == "eventual")
      return one_of({"\"eventual\"", "{ type = \"bounded\", bound = 1 }", "{ type = \"bounded\", bound = 4 }"});
    return handler_ == "hogwild" ? one_of({"\"bounded\"", "\"eventual\""}) : "";
  }
  std::string consistency() {
    if (handler_ == "bounded") return fmt::format("{{ type = \"bounded\", bound = {} }}", below(4));
    if (handler_ == "elastic") return "{ type = \"elastic\", alpha = 0.5, every = 8 }";
    if (handler_ == "first_t") return "{ type = \"first_t\", t = 1 }";
    if (handler_ == "folds" || handler_ == "by_slice")
      return fmt::format("{{ type = \"first_t\", t = {}, choose = \"{}\", late = \"fold\", rate = \"share\"{} }}",
                         1 + below(3), handler_ == "folds" ? "step" : "slice",
                         below(3) == 0 ? ", late_share = 0.25" : "");
    if (handler_ == "pushes")
      return fmt::format("{{ type = \"eventual\", push = {}, fetch = {} }}", 1 + below(5), 2 + below(4));
    return handler_;
  }
  // Exchanged differences are summed: means would not be integers.
  std::string sync() {
    if (handler_ == "strict" && below(2) == 0) {
      if (below(3) == 0) return R"({ type = "all_to_all", of = "contributions" })";
      const std::string name = one_of({"all_to_all", "chain", "halving", "hierarchical", "ring", "star"});
      return fmt::format("{{ type = \"{}\", of = \"gradients\"{} }}", name, name == "halving" ? ", direct = 40" : "");
    }
    const std::string name =
        handler_ == "strict"
            ? one_of({"all_to_all", "chain", "halving", "hierarchical", "ring", "shares", "star", "twin_master"})
            : one_of({"all_to_all", "chain", "ring", "star", "twin_master", "gossip", "gossip"});
    return fmt::format("{{ type = \"{}\", every = {}{} }}", name, 1 + below(9), name == "gossip" ? "" : ", sum = true");
  }

  Random random_;
  bool of_exchanges_ = false; // the codecs' remainders are of server groups' differences
  std::string handler_;
};

} // namespace dlhost::test
