// The main function of a tool: a program with one of dlhost's commands, which is read as dlhost reads it.
#include "cli/companions.h"
#include "cli/program.h"
#include "env/process/process.h"
#include "tools/tool.h"

namespace {

// Finds dlhost beside this program, in the build or the installation. This program then starts that dlhost where dlhost
// would start itself, and searches plugins from its folder.
void act_for_dlhost() {
  dlhost::cli::Context context;
  const dlhost::cli::Companions beside(context, {DLHOST_PROGRAM_INSTALLED, DLHOST_PROGRAM_BUILT});
  if (const std::string file = beside.find("dlhost"); !file.empty()) dlhost::env::act_for(file);
}

} // namespace

int main(int argc, char** argv) {
  act_for_dlhost();
  return dlhost::cli::program_main(argc, argv, dlhost::tools::add_command);
}
