#include "cli/run/run_profile.h"

#include <fmt/format.h>

#include "record/profile.h"
#include "record/trace.h"
#include "run/session/peak.h"

namespace dlhost::cli {

Status write_profile(Context& context, run::Session& session, const run::Training& training,
                     const record::RunFolder& folder, const run::Outcome& outcome, std::uint64_t steps) {
  record::Profile profile;
  profile.steps = steps;
  profile.seconds = outcome.seconds;
  profile.rows.push_back({"input", "", "waiting", outcome.load_seconds, steps, 0, 0, 0});
  for (const auto& timing : training.program().timings())
    profile.rows.push_back({timing.what, timing.type, timing.direction, timing.seconds, timing.calls,
                            timing.operations * static_cast<double>(timing.calls),
                            timing.bytes * static_cast<double>(timing.calls), 0});
  // Where there is no memory for it beside the net, they are not known.
  const auto known = [](const Result<double>& rate) { return rate.ok() ? *rate : 0; };
  Clock& clock = session.host().clock();
  profile.peak_operations =
      known(run::measure_peak(session.device(), session.stream(), clock, session.job().train.dtype));
  profile.peak_bytes = known(run::measure_bytes(session.device(), session.stream(), clock));
  record::set_floors(profile);
  Disk& disk = context.host.disk();
  DLHOST_TRY(disk.write_text(folder.file("profile.json"), record::profile_json(profile)));
  const std::vector<std::string> tracks{"worker 0, the mean step"};
  // Its name and its metadata say that it is no record of what happened.
  const std::string what = fmt::format("one step, each part as long as its mean over {} steps", steps);
  DLHOST_TRY(record::write_trace(disk, folder.file("mean-step.trace.json"), record::mean_step(profile), tracks, what));
  fmt::print("{}\nprofile.json and mean-step.trace.json (for ui.perfetto.dev) are in {}\n",
             record::profile_table(profile), folder.path());
  return {};
}

} // namespace dlhost::cli
