// Shared by all schedules: a base rate and a warm-up. A schedule gives its rate after the warm-up; during the first
// `warmup` steps the rate rises in equal parts from `warmup_from` to the schedule's rate at the end of the warm-up.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <dlhost/parts.h>
#include <dlhost/schema.h>

namespace dlhost::plugins {

enum class TimeUnit { steps, epochs };
inline const std::vector<std::pair<std::string, TimeUnit>> time_units{{"steps", TimeUnit::steps},
                                                                      {"epochs", TimeUnit::epochs}};

struct WarmedOptions {
  double base = 0.01;
  std::int64_t warmup = 0;
  double warmup_from = 0;
};

template <class Options> SchemaOf<Options> warmed(SchemaOf<Options> schema) {
  return schema
      .option("base", static_cast<double Options::*>(&WarmedOptions::base), "the rate before anything lowers it",
              at_least(0))
      .option("warmup", static_cast<std::int64_t Options::*>(&WarmedOptions::warmup),
              "steps in which the rate first rises; 0: none", at_least(0))
      .option("warmup_from", static_cast<double Options::*>(&WarmedOptions::warmup_from), "where it rises from",
              at_least(0));
}

template <class Options> class Warmed : public Schedule {
 public:
  double rate(const When& when) const final {
    const auto warmup = static_cast<std::uint64_t>(options_.warmup);
    if (when.step >= warmup) return rate_after(when);
    When end = when;
    end.step = warmup;
    if (when.step != 0) end.epoch = when.epoch / static_cast<double>(when.step) * static_cast<double>(warmup);
    const double share = static_cast<double>(when.step + 1) / static_cast<double>(warmup);
    return options_.warmup_from + share * (rate_after(end) - options_.warmup_from);
  }

 protected:
  explicit Warmed(Options options) : options_(std::move(options)) {}

  // The rate after the warm-up. Requires: when.step is at or past its end.
  virtual double rate_after(const When&) const = 0;

  // The time since the start of the run, including the warm-up.
  static double time(const When& when, TimeUnit unit) {
    return unit == TimeUnit::steps ? static_cast<double>(when.step) : when.epoch;
  }

  // The completed fraction, in [0, 1], of the time from the end of the warm-up to `steps` (0: the run's end).
  double progress(const When& when, std::int64_t steps) const {
    const double warmup = static_cast<double>(options_.warmup);
    const double last = static_cast<double>(steps > 0 ? static_cast<std::uint64_t>(steps) : when.total_steps);
    if (last <= warmup) return 0;
    return std::min(1.0, (static_cast<double>(when.step) - warmup) / (last - warmup));
  }

  const Options options_;
};

} // namespace dlhost::plugins
