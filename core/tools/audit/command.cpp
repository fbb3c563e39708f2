// dlhost audit: which worker contributed what to which version of each param, from the ledger of a run's servers.
#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dlhost/consistency.h>
#include <dlhost/nearest.h>

#include "cli/command.h"
#include "cli/job_file.h"
#include "cli/opened_run.h"
#include "cli/run_named.h"
#include "cli/tools.h"
#include "env/json_text.h"
#include "record/run_folder.h"
#include "run/input/training_samples.h"
#include "run/recovery/ledgers.h"
#include "tools/audit/held.h"
#include "tools/audit/job_held.h"
#include "tools/tool.h"

namespace dlhost::tools {
namespace {

using Json = nlohmann::ordered_json;

struct AuditOptions {
  std::string run, param;
  std::optional<std::uint64_t> version;
  bool dropped = false, json = false;
};

struct Range {
  std::uint64_t least = 0, most = 0;
};

// The range of a count over the slices that a contributor's servers hold. If workers go at their own pace, counts
// differ between slices. Each server group has a server for each slice and takes the contributions of its own workers.
template <class Count>
Range over_slices(const config::Job& job, const Audit& audit, std::size_t contributor, Count count) {
  const auto place = plan::Place::at(job, static_cast<std::uint32_t>(contributor));
  Range range{~std::uint64_t{0}, 0};
  bool any = false;
  for (const auto& slice : audit.slices) {
    if (slice.server / job.topology.servers_per_group != place.server_group) continue;
    any = true;
    if (!param::holds(slice.holders, place.rank)) continue;
    const std::uint64_t of_slice = count(slice);
    range = {std::min(range.least, of_slice), std::max(range.most, of_slice)};
  }
  return any && range.least > range.most ? Range() : range; // it contributes to no slice
}

Range contributions(const config::Job& job, const Audit& audit, std::size_t contributor) {
  return over_slices(job, audit, contributor,
                     [&](const auto& slice) { return Audit::contributions(slice, contributor); });
}

Range dropped(const config::Job& job, const Audit& audit, std::size_t contributor) {
  return over_slices(job, audit, contributor,
                     [&](const auto& slice) { return audit.dropped_from(slice, contributor); });
}

std::string text_of(const Range& range) {
  if (range.least > range.most) return "unknown"; // no slice was read
  return range.least == range.most ? fmt::format("{}", range.least) : fmt::format("{} to {}", range.least, range.most);
}

Range versions(const Audit& audit) {
  Range range{~std::uint64_t{0}, 0};
  for (const auto& slice : audit.slices) range = {std::min(range.least, slice.last), std::max(range.most, slice.last)};
  return range;
}

// A ledger that was read, with the job of its time.
struct Audited {
  config::Job job;
  Audit audit;
  std::uint64_t arrangement = 0; // its number
  bool follows = false;          // no run without a ledger lies between this one and the previous
};

// The line about an earlier arrangement of the run.
std::string line_of(const Audited& before) {
  const config::Topology& topology = before.job.topology;
  Version begun = ~Version{0};
  for (const auto& slice : before.audit.slices) begun = std::min(begun, slice.begun);
  return fmt::format("before: versions {} to {}, by {} groups of {} workers: {}\n", begun + 1,
                     text_of(versions(before.audit)), topology.worker_groups, topology.workers_per_group,
                     before.audit.faults.empty() ? "whole" : fmt::format("{} faults", before.audit.faults.size()));
}

// If two ledgers follow each other with the same handler, reports versions that neither contains.
void look_for_gaps(std::vector<Audited>& all) {
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (!all[i].follows || all[i].job.topology.consistency.type != all[i - 1].job.topology.consistency.type) continue;
    const Version reached = versions(all[i - 1].audit).most;
    for (const auto& slice : all[i].audit.slices)
      if (slice.server < all[i].job.topology.servers_per_group && slice.begun > reached)
        all[i].audit.faults.push_back(fmt::format("versions {} to {} of slice {} ({}) are not written down",
                                                  reached + 1, slice.begun, slice.id, slice.param));
  }
}

void print_all(const config::Job& job, const Audit& audit) {
  std::set<std::uint32_t> servers;
  std::set<std::string> params;
  for (const auto& slice : audit.slices) {
    servers.insert(slice.server);
    params.insert(slice.param);
  }
  fmt::print("consistency {}; {} params in {} slices of {} servers, at version {}; begun {} time{}\n\n",
             job.topology.consistency.type, params.size(), audit.slices.size(), servers.size(),
             text_of(versions(audit)), audit.begun, audit.begun == 1 ? "" : "s");
  fmt::print("{:>6}  {:>5}  {:>4}  {:>15}  {:>10}\n", "worker", "group", "rank", "contributions", "dropped");
  for (std::size_t c = 0; c < audit.contributors; ++c) {
    const auto place = plan::Place::at(job, static_cast<std::uint32_t>(c));
    fmt::print("{:>6}  {:>5}  {:>4}  {:>15}  {:>10}\n", c, place.group, place.rank,
               text_of(contributions(job, audit, c)), text_of(dropped(job, audit, c)));
  }
  if (audit.faults.empty())
    fmt::print("\nevery line is as it was written, every version is written down, and no contribution counts twice\n");
  constexpr std::size_t most_open = 20;
  for (std::size_t i = 0; i < std::min(most_open, audit.open.size()); ++i) fmt::print("{}\n", audit.open[i]);
  if (audit.open.size() > most_open) fmt::print("and {} more; --json has all\n", audit.open.size() - most_open);
  for (const std::string& file : audit.torn)
    fmt::print("{}: its last line is torn: the machine stopped before the line was on the disk; dlhost run --resume "
               "continues without it\n",
               file);
}

Json json_of(const config::Job& job, const Audit& audit) {
  Json json{{"consistency", job.topology.consistency.type},
            {"begun", audit.begun},
            {"workers", Json::array()},
            {"slices", Json::array()},
            {"faults", audit.faults},
            {"torn", audit.torn},
            {"open", audit.open}};
  for (std::size_t c = 0; c < audit.contributors; ++c) {
    const auto place = plan::Place::at(job, static_cast<std::uint32_t>(c));
    const auto in = contributions(job, audit, c), out = dropped(job, audit, c);
    json["workers"].push_back({{"group", place.group},
                               {"rank", place.rank},
                               {"contributions", {in.least, in.most}},
                               {"dropped", {out.least, out.most}}});
  }
  for (const auto& slice : audit.slices)
    json["slices"].push_back({{"slice", slice.id},
                              {"param", slice.param},
                              {"first", slice.first},
                              {"count", slice.count},
                              {"server", slice.server},
                              {"begun", slice.begun},
                              {"version", slice.last}});
  return json;
}

// Sorted numbers with runs joined: "0 to 15, 20".
std::string ranges(std::vector<std::uint32_t> numbers) {
  std::ranges::sort(numbers);
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] <= numbers[end - 1] + 1) ++end;
    text += text.empty() ? "" : ", ";
    text += end - i > 2 ? fmt::format("{} to {}", numbers[i], numbers[end - 1]) : fmt::format("{}", numbers[i]);
    i = end - i > 2 ? end : i + 1;
  }
  return text;
}

// The source's samples in a worker's step, as far as it contributes to the slice.
Result<std::vector<std::uint32_t>> samples_of(run::Session& session, const Audit& audit, const Audit::Slice& slice,
                                              const Audit::Part& part) {
  auto place = plan::Place::at(session.job(), static_cast<std::uint32_t>(part.contributor));
  if (const auto holder = std::ranges::find(slice.holders, place.rank, &param::Holder::rank);
      holder != slice.holders.end()) {
    place.first_row = static_cast<std::int64_t>(holder->rows.first);
    place.rows = holder->rows.count;
  }
  auto spec = run::training_samples(session.job(), place, session.sources()[0].stream);
  if (!audit.origins.empty()) spec.origin = audit.origins[0];
  DLHOST_ASSIGN(const auto sampling, run::Sampling::make(spec, session.samples(Phase::train)));
  std::vector<std::uint32_t> samples;
  auto epoch = sampling.place(part.step, 0).epoch; // a step may extend into the next epoch
  auto order = sampling.order(epoch);
  for (std::int64_t row = 0; row < sampling.valid(part.step); ++row) {
    const auto at = sampling.place(part.step, row);
    if (at.epoch != epoch) order = sampling.order(epoch = at.epoch);
    samples.push_back(order[at.index]);
  }
  return samples;
}

// Prints what a version contains from the other server groups.
void print_learned(const config::Job& job, const Audit& audit, const Audit::Slice& slice, Version version,
                   const AuditOptions& options, Json& rows) {
  const auto learned = audit.learned(slice, version);
  for (std::size_t group = 0; group < learned.size(); ++group) {
    if (group == slice.server / static_cast<std::uint64_t>(job.topology.servers_per_group)) continue;
    if (options.json)
      rows.push_back({{"param", slice.param},
                      {"slice", slice.id},
                      {"version", version},
                      {"server_group", group},
                      {"through", learned[group]}});
    else
      fmt::print("{} [{}, {}) version {}: what server group {} had made of it up to version {}\n", slice.param,
                 slice.first, slice.first + slice.count, version, group, learned[group]);
  }
}

Status print_version(cli::Context& context, const config::Job& job, const Audit& audit, const AuditOptions& options) {
  std::vector<const Audit::Slice*> slices;
  std::vector<std::string> known;
  for (const auto& slice : audit.slices) {
    known.push_back(slice.param);
    if (slice.param == options.param) slices.push_back(&slice);
  }
  if (slices.empty())
    return Status::not_found("no param '", options.param, "' is updated by servers; ",
                             suggestion(options.param, known));
  const dlhost::Part& handler = job.topology.consistency;
  DLHOST_ASSIGN(const auto consistency, context.registry().create<Consistency>(handler.type, handler.options));
  if (consistency->plan(0, 0).update_locally)
    return Status::unsupported("consistency '", handler.type,
                               "': a version is made of several steps, and the ledger has only the last of them; call "
                               "it without --param to count contributions");
  DLHOST_ASSIGN(const auto session, run::Session::open(context.host, context.registry(), job, run::Purpose::reading));
  Json rows = Json::array();
  // No version: the contribution came too late.
  const auto tell = [&](const Audit::Slice& slice, const Audit::Part& part, std::optional<Version> version) -> Status {
    const auto place = plan::Place::at(job, static_cast<std::uint32_t>(part.contributor));
    DLHOST_ASSIGN(const auto samples, samples_of(*session, audit, slice, part));
    if (options.json) {
      Json row{{"param", slice.param}, {"slice", slice.id}};
      if (version)
        row["version"] = *version;
      else
        row["dropped"] = true;
      row.update(Json{{"group", place.group}, {"rank", place.rank}, {"step", part.step}, {"samples", samples}});
      rows.push_back(std::move(row));
    } else {
      fmt::print("{} [{}, {}) {}: group {}, rank {}, step {}: samples {}\n", slice.param, slice.first,
                 slice.first + slice.count, version ? fmt::format("version {}", *version) : "dropped", place.group,
                 place.rank, part.step, ranges(samples));
    }
    return {};
  };
  for (const auto* slice : slices) {
    const Version version = options.version.value_or(slice->last);
    const auto parts = slice->parts_of(version);
    if (parts.empty())
      return Status::not_found("version ", version, " of '", options.param, "' is not written down: the ledger has ",
                               slice->begun + 1, " to ", slice->last);
    for (const Audit::Part& part : parts) DLHOST_TRY(tell(*slice, part, version));
    print_learned(job, audit, *slice, version, options, rows);
    if (!options.dropped) continue;
    for (const auto* all : {&audit.dropped, &slice->dropped})
      for (const Audit::Part& part : *all) DLHOST_TRY(tell(*slice, part, {}));
  }
  if (options.json) fmt::print("{}\n", env::json_text(rows, 2));
  return {};
}

struct ReadRun {
  std::vector<Audited> all;        // the newest last
  std::vector<std::string> faults; // problems of the claims that the ledgers are checked against
  std::optional<Claim> newest;     // the newest claim; none: no checkpoint or summary names a ledger
};

// The job of the newest attempt in these ledgers. Without it, no sample is known.
struct JobOfLedgers {
  std::string digest, kept; // `kept`: where the ledger has it; empty: no ledger names a job
};
JobOfLedgers job_of(std::span<const run::KeptLedger> kept, std::span<const Audited> all) {
  for (std::size_t i = all.size(); i-- > 0;)
    if (const std::string& digest = all[i].audit.job; !digest.empty())
      for (const run::KeptLedger& one : kept)
        if (one.of.arrangement == all[i].arrangement) return {digest, run::job_in(one.folder, digest)};
  return {};
}

// `job_file`: the saved job that the audit reads.
Result<ReadRun> read_run(cli::Context& context, const AuditOptions& options, const std::string& job_file) {
  Disk& disk = context.host.disk();
  DLHOST_ASSIGN(const auto job, cli::load_job(context, job_file, {}, run::Purpose::reading));
  DLHOST_ASSIGN(auto kept, run::kept_ledgers(disk, options.run, job));
  auto claims = claims_of(disk, options.run, job.checkpoint.folder, kept.empty() ? "" : kept.back().of.run);
  if (!kept.empty()) look_for_summary(disk, options.run, job_file, kept.back(), claims);
  for (auto& fault : lost_arrangements(kept, claims)) claims.faults.push_back(std::move(fault));
  std::vector<Audited> all;
  bool follows = false;
  for (const auto& one : kept) {
    auto held = held_audit(disk, context.registry(), one, claims);
    if (held.status().code() == Code::not_found && !plan::Place::contribute_to_servers(one.job.topology)) {
      follows = false; // this arrangement had no servers, so it has no ledger
      continue;
    }
    DLHOST_ASSIGN(auto audit, std::move(held));
    if (const auto seats = plan::Place::seats(one.job.topology);
        audit.arranged && audit.contributors != seats && audit.contributors != 0) {
      audit.arranged = false;
      audit.faults.push_back(
          fmt::format("the ledger '{}' is of {} workers, and the run had {}", one.folder, audit.contributors, seats));
    }
    all.push_back({one.job, std::move(audit), one.of.arrangement, std::exchange(follows, true)});
  }
  const auto jobs = record::RunFolder::jobs_in(disk, options.run);
  if (const auto [digest, where] = job_of(kept, all); !digest.empty()) {
    const std::string other = job_of_attempt(disk, jobs, digest);
    if (other.empty())
      claims.faults.push_back(job_differences(disk, job_file, where));
    else if (other != job_file && job_of_attempt(disk, std::array{job_file}, digest).empty())
      return read_run(context, options, other); // the newest job came to no attempt
  }
  if (all.empty() && !claims.faults.empty()) return verdict(claims.faults);
  if (all.empty())
    return Status::not_found(
        "'", options.run,
        "' has no ledger: one worker alone keeps none (each step's samples make each version), nor "
        "do several whose devices sum gradients (topology.device_copies = \"none\": the same), or with record.ledger = "
        "false");
  look_for_gaps(all);
  return ReadRun{.all = std::move(all),
                 .faults = claims.faults,
                 .newest = claims.all.empty() ? std::nullopt : std::optional(claims.all.back())};
}

// The ledger that contains the asked version; else the newest.
const Audited& with_version(const std::vector<Audited>& all, const AuditOptions& options) {
  const auto has = [&](const Audited& one) {
    return std::ranges::any_of(one.audit.slices, [&](const auto& slice) {
      return slice.param == options.param && slice.begun < *options.version && *options.version <= slice.last;
    });
  };
  for (const Audited& one : all)
    if (options.version && has(one)) return one;
  return all.back();
}

// Says up to which step missing lines would be detected.
void print_certainty(const std::optional<Claim>& newest) {
  if (!newest)
    fmt::print(
        "no checkpoint names these ledgers, nor does summary.json: an audit cannot see whether whole files, or lines "
        "at a file's end, are missing\n");
  else if (newest->of_end)
    fmt::print("certain up to the run's end at step {}, which {} names\n", newest->step, newest->by);
  else
    fmt::print("certain up to step {}, which {} names; an audit cannot see whether later lines are missing\n",
               newest->step, newest->by);
}

Status audit_run(cli::Context& context, const AuditOptions& options) {
  const std::string job_file = record::RunFolder::job_in(context.host.disk(), options.run);
  if (job_file.empty())
    return Status::not_found(
        "'", options.run,
        "/job.toml' is missing: the job of a run says which samples each step has; name a run's folder");
  DLHOST_ASSIGN(const auto read, read_run(context, options, job_file));
  const auto& all = read.all;
  std::vector<std::string> faults = read.faults;
  for (const Audited& one : all) faults.insert(faults.end(), one.audit.faults.begin(), one.audit.faults.end());
  // Numbers of a forged arrangement or job mean nothing.
  const bool known = std::ranges::all_of(all, [](const Audited& one) { return one.audit.arranged; });
  if (!known || (!options.param.empty() && !read.faults.empty())) return verdict(faults);
  if (!options.param.empty()) {
    const Audited& one = with_version(all, options);
    DLHOST_TRY(print_version(context, one.job, one.audit, options));
    return verdict(faults);
  }
  const config::Job& job = all.back().job;
  const Audit& audit = all.back().audit;
  const auto before = std::span(all).first(all.size() - 1);
  if (options.json) {
    Json json = json_of(job, audit);
    json["certain"] = read.newest ? Json{{"step", read.newest->step}, {"by", read.newest->by}} : Json();
    json["before"] = Json::array();
    for (const Audited& one : before) json["before"].push_back(json_of(one.job, one.audit));
    fmt::print("{}\n", env::json_text(json, 2));
  } else {
    for (const Audited& one : before) fmt::print("{}", line_of(one));
    print_all(job, audit);
    if (faults.empty()) print_certainty(read.newest);
  }
  return verdict(faults);
}

} // namespace

void add_command(CLI::App& app, cli::Context& context) {
  auto* command = app.add_subcommand("audit", cli::description_of_tool("audit"));
  auto options = std::make_shared<AuditOptions>();
  cli::add_run_named(*command, options->run);
  command->add_option("--param", options->param, "of this param: which samples made a version of it")
      ->type_name("NAME");
  command->add_option("--version", options->version, "which version; without it the last")
      ->type_name("NUMBER")
      ->needs("--param");
  command->add_flag("--dropped", options->dropped, "also the samples that came too late for any version of it")
      ->needs("--param");
  command->add_flag("--json", options->json, "print JSON, for programs");
  command->footer(
      "A run of several workers records the contributions to each version of each slice of a param\n"
      "(record.ledger in the job; the files are in RUN/ledger, and in RUN/ledger-1 and so on those from before\n"
      "the run was scaled). Steps that were rolled back when a process died are left out. The command fails\n"
      "where a file, a line or a version that the run's checkpoints or its end name is missing, a line was\n"
      "changed, a contribution counts twice or not at all, or two servers of a group have the same slice. It\n"
      "says up to which step that is certain.\n\n"
      "Examples:\n"
      "  dlhost audit runs/digits-...\n"
      "  dlhost audit runs/digits-... --param hidden.weight --version 120\n"
      "  dlhost audit runs/digits-... --param hidden.weight --dropped");
  command->callback([&context, options] {
    const auto run = cli::run_named(context.host.disk(), options->run);
    if (run.ok()) options->run = *run;
    if (Status status = run.ok() ? audit_run(context, *options) : run.status(); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::tools
