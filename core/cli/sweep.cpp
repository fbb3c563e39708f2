// dlhost sweep: one job with many settings, side by side, the hopeless ones stopped early.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/csv_field.h"
#include "cli/job_file.h"
#include "cli/run_named.h"
#include "cli/sweep_space.h"
#include "cli/sweep_trials.h"
#include "env/process/interrupt.h"
#include "env/process/process.h"
#include "record/chart_svg.h"
#include "record/quantity.h"
#include "record/run_folder.h"
#include "run/recovery/leadership.h"

namespace dlhost::cli {
namespace {

struct SweepOptions {
  std::string job, folder, resume;
  std::vector<std::string> set, vary;
  std::size_t random = 0;
  std::uint64_t seed = 0;
  std::uint32_t jobs = 1;
  std::string metric;
  bool highest = false, whole = false;
};

enum class State : std::uint8_t { waiting, running, done, stopped, failed };

std::string_view name_of(State state) {
  switch (state) {
  case State::waiting: return "waiting";
  case State::running: return "running";
  case State::done: return "done";
  case State::stopped: return "stopped early";
  case State::failed: break;
  }
  return "failed";
}

class Sweep {
 public:
  Sweep(Context& context, std::string folder, SweepAsked asked)
      : context_(context), disk_(context.host.disk()), folder_(std::move(folder)), asked_(std::move(asked)),
        trials_(asked_.trials.size()) {}

  Status run() {
    constexpr Nanoseconds pause = 200'000'000, between_judgings = 1'000'000'000;
    for (std::size_t i = 0; i < trials_.size(); ++i) trials_[i].state = state_on_disk(i);
    while (is_unsettled() && !(env::interrupted() && count(State::running) == 0)) {
      // Judging reads what trials have written so far: less often than their ends are looked for.
      judges_ = asked_.halving && context_.host.clock().now() >= next_judging_;
      if (judges_) next_judging_ = context_.host.clock().now() + between_judgings;
      for (std::size_t i = 0; i < trials_.size(); ++i) DLHOST_TRY(look_at(i));
      context_.host.clock().sleep(pause);
    }
    DLHOST_TRY(tell_results());
    if (!env::interrupted()) return {};
    context_.exit_code = exit_interrupted;
    fmt::print("interrupted; dlhost sweep --resume {} goes on with it\n", folder_);
    return {};
  }

 private:
  struct Trial {
    State state = State::waiting;
    std::unique_ptr<env::Process> process;
    bool asked_to_end = false;
    std::size_t judged = 0; // evaluations that it was compared after
  };

  std::size_t count(State state) const {
    return static_cast<std::size_t>(std::ranges::count(trials_, state, &Trial::state));
  }
  bool is_unsettled() const { return count(State::waiting) + count(State::running) > 0; }
  std::string marker(std::size_t i) const { return trial_folder(folder_, i) + "/stopped-early"; }

  State state_on_disk(std::size_t i) const {
    if (disk_.exists(marker(i))) return State::stopped;
    const std::string status = status_of_trial(disk_, folder_, i);
    if (status == "done") return State::done;
    return status == "failed" || status == "diverged" ? State::failed : State::waiting;
  }

  Status look_at(std::size_t i) {
    Trial& trial = trials_[i];
    if (trial.state == State::waiting && count(State::running) < asked_.jobs && !env::interrupted()) return start(i);
    if (trial.state != State::running) return {};
    if (trial.process->ended()) return end(i);
    if (env::interrupted() && !std::exchange(trial.asked_to_end, true)) env::ask_to_end(trial.process->number());
    if (judges_ && !trial.asked_to_end && is_hopeless(i)) {
      DLHOST_TRY(disk_.write_text(marker(i), "others were better after as many evaluations\n"));
      trial.asked_to_end = true;
      env::ask_to_end(trial.process->number());
    }
    return {};
  }

  // One that a sweep which was killed has left running is waited for.
  Status start(std::size_t i) {
    const std::string own = std::filesystem::absolute(trial_folder(folder_, i)).string();
    if (const std::string run = run_of_trial(disk_, folder_, i); !run.empty()) {
      DLHOST_ASSIGN(const bool led, run::Leadership::led(run));
      if (led) return {};
    }
    DLHOST_TRY(disk_.make_directory(own));
    std::vector<std::string> words;
    for (const auto& folder : context_.plugin_dirs) words.insert(words.end(), {"--plugin-dir", folder});
    words.insert(words.end(), {"run", asked_.job, "--continue", concat("--set=record.folder=", own)});
    for (const auto* list : {&asked_.set, &asked_.trials[i]})
      for (const auto& one : *list) words.push_back("--set=" + one);
    DLHOST_ASSIGN(trials_[i].process, env::Process::start_own(words, own + "/output.log"));
    trials_[i].state = State::running;
    return {};
  }

  Status end(std::size_t i) {
    Trial& trial = trials_[i];
    const bool ended_well = trial.process->exit_status() == 0;
    trial.process.reset();
    trial.state = state_on_disk(i);
    if (trial.state == State::waiting && !env::interrupted()) trial.state = ended_well ? State::done : State::failed;
    if (trial.state == State::waiting) return {}; // interrupted
    const auto score = score_of(disk_, folder_, i, asked_);
    const auto best = score ? score->best(score->points.size()) : std::nullopt;
    fmt::print(
        "trial {} of {}: {}: {}{}\n", i + 1, trials_.size(), fmt::join(asked_.trials[i], ", "), name_of(trial.state),
        best ? fmt::format(", {} {} at step {:.0f}", score->metric, record::short_number(best->value), best->step)
        : trial.state == State::failed ? concat(", see ", trial_folder(folder_, i), "/output.log")
                                       : "");
    std::fflush(stdout);
    return {};
  }

  // After 1, 3, 9, ... evaluations a trial goes on where it is among the best third of those that have come as far.
  bool is_hopeless(std::size_t i) {
    constexpr std::size_t part = 3;
    const auto mine = score_of(disk_, folder_, i, asked_);
    if (!mine || mine->phase != "validation") return false;
    std::size_t rung = 1;
    while (rung * part <= mine->points.size()) rung *= part;
    if (mine->points.empty() || rung <= trials_[i].judged) return false;
    const auto my_best = mine->best(rung);
    std::size_t compared = 0, better = 0;
    for (std::size_t other = 0; other < trials_.size(); ++other) {
      if (other == i || trials_[other].state == State::waiting) continue;
      const auto theirs = score_of(disk_, folder_, other, asked_);
      const auto their_best = theirs ? theirs->best(rung) : std::nullopt;
      if (!their_best) continue;
      ++compared;
      if (!my_best || mine->better(their_best->value, my_best->value)) ++better;
    }
    if (compared + 1 < part) return false; // asked again at the next look
    trials_[i].judged = rung;
    return better >= (compared + 1 + part - 1) / part;
  }

  Status tell_results() {
    struct Row {
      std::size_t trial;
      std::optional<Score> score;
      std::optional<record::CurvePoint> best;
    };
    std::vector<Row> rows;
    for (std::size_t i = 0; i < trials_.size(); ++i) {
      auto score = score_of(disk_, folder_, i, asked_);
      const auto best = score ? score->best(score->points.size()) : std::nullopt;
      rows.push_back({i, std::move(score), best});
    }
    std::ranges::stable_sort(rows, [](const Row& one, const Row& other) {
      if (!one.best || !other.best) return one.best.has_value() && !other.best;
      return one.score->better(one.best->value, other.best->value);
    });
    std::string table = "trial,state,metric,value,step,settings,run\n";
    fmt::print("{:>6}  {:<13}  {:>20}  {:>8}  {}\n", "trial", "state", "best", "at step", "settings");
    std::vector<record::Curves> curves;
    std::vector<std::string> names;
    for (const auto& [trial, score, best] : rows) {
      const std::string settings = fmt::format("{}", fmt::join(asked_.trials[trial], ", "));
      const std::string run = run_of_trial(disk_, folder_, trial);
      const std::string value = best ? fmt::format("{} {}", score->metric, record::short_number(best->value)) : "";
      fmt::print("{:>6}  {:<13}  {:>20}  {:>8}  {}\n", trial + 1, name_of(trials_[trial].state), value,
                 best ? fmt::format("{:.0f}", best->step) : "", settings);
      table += fmt::format("{},{},{},{},{},{},{}\n", trial + 1, name_of(trials_[trial].state),
                           score ? score->metric : "", best ? fmt::format("{}", best->value) : "",
                           best ? fmt::format("{:.0f}", best->step) : "", csv_field(settings), csv_field(run));
      constexpr std::size_t most_curves = 10;
      if (!best || curves.size() == most_curves) continue;
      if (auto read = record::read_curves(disk_, run); read.ok()) {
        curves.push_back(*std::move(read));
        names.push_back(settings);
      }
    }
    DLHOST_TRY(disk_.write_text(folder_ + "/trials.csv", table));
    std::string drawn;
    if (!curves.empty()) {
      const auto panels = record::panels_of(curves, {});
      if (panels.ok()) {
        DLHOST_TRY(disk_.write_text(folder_ + "/curves.svg", record::chart_svg(*panels, names, record::XAxis::step)));
        drawn = concat(" and ", folder_, "/curves.svg");
      }
    }
    fmt::print("{}/trials.csv{}\n", folder_, drawn);
    return {};
  }

  Context& context_;
  Disk& disk_;
  std::string folder_;
  SweepAsked asked_;
  std::vector<Trial> trials_;
  bool judges_ = false; // in this look
  Nanoseconds next_judging_ = 0;
};

Result<SweepAsked> asked_of(Context& context, const SweepOptions& options) {
  SweepAsked asked{.job = std::filesystem::absolute(options.job).string(),
                   .set = options.set,
                   .trials = {},
                   .metric = options.metric,
                   .highest = options.highest,
                   .halving = !options.whole,
                   .jobs = options.jobs};
  if (options.vary.empty()) return Status::invalid("a sweep varies something: --vary updater.rate=0.1,0.03,0.01");
  std::vector<Varied> varied;
  for (const auto& text : options.vary) {
    DLHOST_ASSIGN(varied.emplace_back(), parse_varied(text));
  }
  DLHOST_ASSIGN(asked.trials, trials_of(varied, options.random, options.seed));
  const bool has_threads =
      std::ranges::any_of(options.set, [](const auto& one) { return one.starts_with("train.threads="); });
  if (options.jobs > 1 && !has_threads)
    asked.set.push_back(
        fmt::format("train.threads={}", std::max(1U, std::thread::hardware_concurrency() / options.jobs)));
  // What no trial could do is told once, and here.
  for (const auto& trial : {asked.trials.front(), asked.trials.back()}) {
    auto set = asked.set;
    set.insert(set.end(), trial.begin(), trial.end());
    DLHOST_TRY(load_job(context, asked.job, set).status());
  }
  return asked;
}

Status sweep(Context& context, const SweepOptions& options) {
  Disk& disk = context.host.disk();
  if (!options.resume.empty()) {
    DLHOST_ASSIGN(auto asked, kept(disk, options.resume));
    return Sweep(context, options.resume, std::move(asked)).run();
  }
  if (options.job.empty()) return Status::invalid("name a job, or a sweep to go on with (--resume FOLDER)");
  DLHOST_ASSIGN(auto asked, asked_of(context, options));
  std::string folder = options.folder;
  if (folder.empty()) {
    DLHOST_ASSIGN(const auto made, record::RunFolder::make(context.host, "sweeps", "sweep"));
    folder = made.path();
  } else if (disk.exists(folder + "/sweep.json")) {
    return Status::exists("there is a sweep in ", folder,
                          " already: go on with it (--resume), or choose another folder");
  } else {
    DLHOST_TRY(disk.make_directory(folder));
  }
  DLHOST_TRY(keep(disk, folder, asked));
  fmt::print("{} trials, {} at a time, in {}\n", asked.trials.size(), asked.jobs, folder);
  std::fflush(stdout);
  return Sweep(context, folder, std::move(asked)).run();
}

} // namespace

void add_sweep(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("sweep", "train a job with many settings, and compare them");
  auto options = std::make_shared<SweepOptions>();
  command->add_option("job", options->job, "the job")->type_name("JOB.toml");
  const auto several = [](CLI::Option* option) { return option->allow_extra_args(false); };
  several(command->add_option("--vary", options->vary, "values of a key, or a range; may be given several times"))
      ->type_name("KEY=V,V,...|A..B");
  several(command->add_option("--set", options->set, "change one key in all trials; may be given several times"))
      ->type_name("KEY=VALUE");
  command->add_option("--random", options->random, "so many draws, instead of every combination")->type_name("N");
  command->add_option("--seed", options->seed, "of the draws")->capture_default_str();
  command->add_option("--jobs", options->jobs, "trials at a time, which share the machine's threads")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--metric", options->metric, "what trials are judged by (the accuracy, or else the loss)");
  command->add_flag("--highest", options->highest, "of that metric, more is better");
  command->add_flag("--whole", options->whole, "no trial is stopped before its end");
  command->add_option("-o,--folder", options->folder, "where the trials' runs lie (a new one under sweeps/)");
  command->add_option("--resume", options->resume, "go on with a sweep that was interrupted or killed")
      ->type_name("FOLDER");
  command->footer("Every combination is tried, or --random N draws, which may be of ranges. After 1, 3, 9, ... "
                  "validations a trial\n"
                  "goes on only where it is in the best third of those that have come as far; without validations each "
                  "comes to its\n"
                  "end. Each trial is a run of its own, in FOLDER/trial-001 and so on. A table is printed and kept as "
                  "trials.csv, the\n"
                  "curves of the best as curves.svg.\n\n"
                  "Examples:\n"
                  "  dlhost sweep job.toml --vary updater.rate=0.1,0.03,0.01 --vary layer.hidden.units=64,256\n"
                  "  dlhost sweep job.toml --vary updater.rate=0.001..0.3 --random 20 --jobs 2");
  command->callback([&context, options] {
    env::catch_interrupts();
    if (Status status = sweep(context, *options); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::cli
