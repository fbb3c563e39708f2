// dlhost plot: the curves of one run or several, as a picture or on the terminal.
#include <algorithm>
#include <map>

#include "cli/run_named.h"
#include "env/terminal.h"
#include "record/chart_svg.h"
#include "record/chart_text.h"

namespace dlhost::cli {
namespace {

struct PlotRequest {
  std::vector<std::string> runs;
  std::string output;
  record::PanelOptions panels;
};

// Two runs of one name are told apart by their paths.
std::vector<std::string> names_of(const std::vector<record::Curves>& runs, const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const bool unique = std::ranges::count(runs, runs[i].run, &record::Curves::run) == 1;
    names.push_back(unique ? runs[i].run : paths[i]);
  }
  return names;
}

Status plot(Context& context, const PlotRequest& request) {
  Disk& disk = context.host.disk();
  auto paths = request.runs;
  if (paths.empty()) paths.emplace_back();
  for (auto& path : paths) {
    DLHOST_ASSIGN(path, run_named(disk, path));
  }
  std::vector<record::Curves> runs;
  for (const std::string& path : paths) {
    DLHOST_ASSIGN(auto curves, record::read_curves(disk, path));
    runs.push_back(std::move(curves));
  }
  DLHOST_ASSIGN(const auto panels, record::panels_of(runs, request.panels));
  const auto names = names_of(runs, paths);
  env::StandardTerminal output(1);
  if (request.output.empty() && output.interactive()) {
    output.write(record::chart_text(panels, names, request.panels.x, output));
    return {};
  }
  const std::string picture = record::chart_svg(panels, names, request.panels.x);
  if (!request.output.empty() && request.output != "-") return disk.write_text(request.output, picture);
  output.write(picture);
  return {};
}

} // namespace

void add_plot(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("plot", "draw the curves of runs, on the terminal or as a picture");
  auto request = std::make_shared<PlotRequest>();
  command
      ->add_option("run", request->runs,
                   "run folders, beginnings of their names, or their metrics.jsonl (the newest run under runs/)")
      ->type_name("RUN");
  command
      ->add_option("-o,--output", request->output,
                   "the picture, as SVG; - for standard output, which it also goes to where that is a file or a pipe")
      ->type_name("CURVES.svg");
  const std::map<std::string, record::XAxis> axes = {
      {"step", record::XAxis::step}, {"epoch", record::XAxis::epoch}, {"seconds", record::XAxis::seconds}};
  command->add_option("--x", request->panels.x, "what lies below the curves")
      ->transform(CLI::CheckedTransformer(axes).description("{step,epoch,seconds}"))
      ->type_name("AXIS")
      ->default_str("step");
  command->footer("Examples:\n"
                  "  dlhost plot\n"
                  "  dlhost plot runs/first-... runs/second-... -o curves.svg");
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

} // namespace dlhost::cli
