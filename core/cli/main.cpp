// dlhost: the commands of every day. A tool is a program of its own, which takes this one's place.
#include "cli/program.h"
#include "cli/tools.h"

namespace dlhost::cli {
namespace {

void add_commands(CLI::App& app, Context& context) {
  add_run(app, context);
  add_launch(app, context);
  add_check(app, context);
  add_evaluate(app, context);
  add_predict(app, context);
  add_examples(app, context);
  add_export(app, context);
  add_import(app, context);
  add_ps(app, context);
  add_top(app, context);
  add_scale(app, context);
  add_stop(app, context);
  add_save(app, context);
  add_kill(app, context);
  add_conform(app, context);
  add_bench(app, context);
  add_worker(app, context);
  add_standby(app, context);
  add_tools(app, context);
}

} // namespace
} // namespace dlhost::cli

int main(int argc, char** argv) {
  dlhost::cli::become_tool(argv);
  return dlhost::cli::program_main(argc, argv, dlhost::cli::add_commands);
}
