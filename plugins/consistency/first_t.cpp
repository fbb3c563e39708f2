// Bagging-Down: the first T contributions make the update.
#include <dlhost/plugin.h>

#include "first.h"

namespace dlhost::plugins {

class FirstT final : public First {
 public:
  static constexpr std::string_view name = "first_t";
  enum class Choose { step, slice };
  enum class Late { drop, fold, dampen };
  enum class Rate { whole, share };
  struct Options {
    std::int64_t t = 1;
    Choose choose = Choose::step;
    Late late = Late::drop;
    Rate rate = Rate::whole;
    double late_share = 0;
  };
  static Schema schema() {
    return SchemaOf<Options>(
               "Bagging-Down: the first T groups' contributions to a version make it, scaled to stand for all. A get "
               "returns a version newer than the last (choose = \"slice\": the newest); late contributions are "
               "counted, "
               "and dropped or folded in.")
        .option("t", &Options::t, "groups whose contributions make a version; at most as many as there are",
                at_least(1))
        .choice("choose", &Options::choose, {{"step", Choose::step}, {"slice", Choose::slice}},
                "step: the same groups for all params, and contributors wait for the version; slice: the first "
                "contributions to each slice, of any groups, and no group waits")
        .choice("late", &Options::late, {{"drop", Late::drop}, {"fold", Late::fold}, {"dampen", Late::dampen}},
                "drop: a late contribution is left out; fold: it is added to the next version; dampen: added, divided "
                "by 1 and the versions that it is late")
        .choice("rate", &Options::rate, {{"whole", Rate::whole}, {"share", Rate::share}},
                "whole: each update uses the full rate; share: the rate is multiplied by the update's share of the "
                "contributions of all groups")
        .option("late_share", &Options::late_share,
                "T moves, by one at a time, so that about this share of contributions comes late; 0: T stays",
                from_below(0, 1));
  }
  explicit FirstT(Options options) : options_(options) {}

  Traits traits() const override {
    Traits traits = First::traits();
    traits.joint = traits.by_step = options_.choose == Choose::step;
    traits.may_drop = options_.late == Late::drop;
    traits.folds = options_.choose == Choose::slice || options_.late != Late::drop;
    traits.own_words = words;
    return traits;
  }
  WorkerPlan plan(std::uint64_t step, Version have) const override {
    return options_.choose == Choose::slice ? WorkerPlan() : First::plan(step, have);
  }

  UpdateVerdict on_update(SliceState& slice, const Contribution& contribution) override {
    const bool is_late = contribution.based_on < slice.version;
    adapt(slice, is_late);
    if (is_late) return late(slice.version - contribution.based_on);
    if (options_.choose == Choose::step) return with(slice, slice.held.size() + 1);
    if (++slice.own[round] < wanted(slice) * workers_of(slice)) return {.act = UpdateVerdict::Act::fold};
    slice.own[round] = 0;
    return made_of(slice, slice.folded + 1);
  }
  // Without scaling up: a pause is no reason for a larger step.
  float weight_at_pause(const SliceState& slice) const override {
    return stands_for(slice) / static_cast<float>(slice.expected);
  }
  // If slices choose, no worker waits for a version.
  UpdateVerdict on_member(SliceState& slice) override {
    return options_.choose == Choose::slice ? UpdateVerdict() : First::on_member(slice);
  }

 private:
  // Words of a slice, or of the chooser of whole steps.
  enum Word : std::size_t { moved, came, came_late, round, words };
  static constexpr std::uint64_t window = 8; // contributions of each worker before T moves

  // The number of workers in a group.
  static std::uint64_t workers_of(const SliceState& slice) { return std::max(1U, slice.expected / slice.groups); }

  // The word stores the movement of T in two's complement, starting at 0.
  std::size_t wanted(const SliceState& slice) const override {
    const auto t = options_.t + static_cast<std::int64_t>(slice.own[moved]);
    return static_cast<std::size_t>(std::clamp<std::int64_t>(t, 1, slice.groups));
  }
  void adapt(SliceState& slice, bool is_late) const {
    if (options_.late_share == 0) return;
    slice.own[came_late] += is_late ? 1 : 0;
    if (++slice.own[came] < window * slice.expected) return;
    const double share = static_cast<double>(slice.own[came_late]) / static_cast<double>(slice.own[came]);
    slice.own[came] = slice.own[came_late] = 0;
    const auto t = static_cast<std::int64_t>(wanted(slice));
    const std::int64_t next = share > options_.late_share ? t + 1 : share < options_.late_share / 2 ? t - 1 : t;
    slice.own[moved] = static_cast<std::uint64_t>(std::clamp<std::int64_t>(next, 1, slice.groups) - options_.t);
  }
  UpdateVerdict late(Version by) const {
    if (options_.late == Late::drop) return {.act = UpdateVerdict::Act::drop};
    const float weight = options_.late == Late::fold ? 1 : 1 / (1 + static_cast<float>(by));
    return {.act = UpdateVerdict::Act::fold, .weight = weight, .late = true};
  }
  UpdateVerdict made_of(const SliceState& slice, float count) const override {
    return {.act = UpdateVerdict::Act::combine,
            .weight = stands_for(slice) / count,
            .rate_factor = options_.rate == Rate::share ? count / static_cast<float>(slice.expected) : 1};
  }
  // The number of contributions over which the same samples are divided; in a choice by slice those of a group.
  float stands_for(const SliceState& slice) const {
    return static_cast<float>(options_.choose == Choose::step ? slice.expected : workers_of(slice));
  }

  const Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::FirstT);
