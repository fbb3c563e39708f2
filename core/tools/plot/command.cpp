// dlhost plot: draws the curves of runs as a picture or on the terminal.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "cli/run_named.h"
#include "cli/tools.h"
#include "config/changes.h"
#include "env/terminal.h"
#include "record/run_folder.h"
#include "tools/chart/chart_svg.h"
#include "tools/chart/chart_text.h"
#include "tools/plot/picture_file.h"
#include "tools/tool.h"

namespace dlhost::tools {
namespace {

struct PlotRequest {
  std::vector<std::string> runs, labels;
  std::string output;
  PanelOptions panels;
};

// The jobs saved by the runs; empty: a run has none.
std::vector<std::string> jobs_of(Disk& disk, const std::vector<std::string>& paths) {
  std::vector<std::string> jobs;
  for (const auto& path : paths) {
    const auto text = disk.read_text(record::RunFolder::job_in(disk, path));
    if (!text.ok()) return {};
    jobs.push_back(*text);
  }
  return jobs;
}

// The runs' names in the legend: the differences of their jobs, if they are short and unique; else the folders' names,
// with whole paths for equal ones.
std::vector<std::string> names_of(Disk& disk, const std::vector<record::Curves>& runs,
                                  const std::vector<std::string>& paths) {
  constexpr std::size_t readable = 60; // bytes
  std::vector<std::string> names;
  if (runs.size() > 1) names = config::distinctions(jobs_of(disk, paths));
  const auto tells = [&](const std::string& name) {
    return !name.empty() && name.size() <= readable && std::ranges::count(names, name) == 1;
  };
  if (names.size() == runs.size() && std::ranges::all_of(names, tells)) return names;
  names.clear();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const bool unique = std::ranges::count(runs, runs[i].run, &record::Curves::run) == 1;
    names.push_back(unique ? runs[i].run : paths[i]);
  }
  return names;
}

// Leaves out runs without steps, if there are several runs.
Status leave_out_empty(std::vector<record::Curves>& runs, std::vector<std::string>& paths,
                       std::vector<std::string>& labels) {
  for (std::size_t i = 0; i < runs.size() && runs.size() > 1;) {
    if (!runs[i].curves.empty()) {
      ++i;
      continue;
    }
    fmt::print(stderr, "dlhost: {} has no steps yet, and is left out\n", paths[i]);
    const auto at = static_cast<std::ptrdiff_t>(i);
    runs.erase(runs.begin() + at);
    paths.erase(paths.begin() + at);
    if (!labels.empty()) labels.erase(labels.begin() + at);
  }
  if (runs[0].curves.empty()) return Status::not_found(paths[0], " has no steps yet");
  return {};
}

Status plot(cli::Context& context, const PlotRequest& request) {
  Disk& disk = context.host.disk();
  if (!request.output.empty() && request.output != "-") DLHOST_TRY(check_picture(request.output));
  auto paths = request.runs;
  auto labels = request.labels;
  if (paths.empty()) paths.emplace_back();
  for (auto& path : paths) {
    DLHOST_ASSIGN(path, cli::run_named(disk, path));
  }
  std::vector<record::Curves> runs;
  for (const std::string& path : paths) {
    DLHOST_ASSIGN(auto curves, record::read_curves(disk, path));
    runs.push_back(std::move(curves));
  }
  if (!labels.empty() && labels.size() != runs.size())
    return Status::invalid("--label is given ", labels.size(), " times for ", runs.size(), " runs: once for each");
  DLHOST_TRY(leave_out_empty(runs, paths, labels));
  DLHOST_ASSIGN(const auto panels, panels_of(runs, request.panels));
  const auto names = labels.empty() ? names_of(disk, runs, paths) : labels;
  env::StandardTerminal output(1);
  if (request.output.empty() && output.interactive()) {
    output.write(chart_text(panels, names, request.panels.x, output));
    return {};
  }
  const std::string picture = chart_svg(panels, names, request.panels.x);
  if (!request.output.empty() && request.output != "-") return write_picture(disk, request.output, picture);
  output.write(picture);
  return {};
}

} // namespace

void add_command(CLI::App& app, cli::Context& context) {
  auto* command = app.add_subcommand("plot", cli::description_of_tool("plot"));
  auto request = std::make_shared<PlotRequest>();
  command
      ->add_option("run", request->runs,
                   "run folders, beginnings of their names, or their metrics.jsonl (the newest run under runs/)")
      ->type_name("RUN");
  command
      ->add_option("-o,--output", request->output,
                   "the picture, a .svg, .png or .pdf file; -: SVG on standard output, where it also goes if that is "
                   "no terminal")
      ->type_name("FILE");
  command
      ->add_option("--label", request->labels,
                   "a run's name, once for each run; left out: the settings in which its job differs, or its folder")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  const std::map<std::string, XAxis> axes = {
      {"step", XAxis::step}, {"epoch", XAxis::epoch}, {"seconds", XAxis::seconds}};
  command->add_option("--x", request->panels.x, "the axis below the curves")
      ->transform(CLI::CheckedTransformer(axes).description("{step,epoch,seconds}"))
      ->type_name("AXIS")
      ->default_str("step");
  const auto add_range = [&](const char* name, Range& range, const char* doc) {
    command
        ->add_option_function<std::string>(
            name,
            [&range, name](const std::string& text) {
              const auto given = range_named(text);
              if (!given)
                throw CLI::ValidationError(name, "'" + text + "' is not A..B, with A below B; either may be left out");
              range = *given;
            },
            doc)
        ->type_name("A..B");
  };
  add_range("--x-range", request->panels.x_range, "draw this part of it: 100..2000, 100.. or ..2000");
  add_range("--y-range", request->panels.y_range, "let the axis of the curves go from A to B");
  command->footer("Examples:\n"
                  "  dlhost plot\n"
                  "  dlhost plot --x-range 1000.. --y-range ..0.1\n"
                  "  dlhost plot runs/first-... runs/second-... -o curves.png");
  command
      ->add_option("--metric", request->panels.metrics,
                   "only this one (may be repeated); also rate and items_per_second")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command->add_flag("--log", request->panels.logarithmic,
                    "a logarithmic axis for losses; with --metric, for all that are drawn");
  command
      ->add_option("--smooth", request->panels.smooth,
                   "the part of a noisy training curve that each point is averaged over; 0 for none")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("PART")
      ->capture_default_str();
  command->callback([&context, request] {
    if (Status status = plot(context, *request); !status.ok()) context.fail(status);
  });
}

} // namespace dlhost::tools
