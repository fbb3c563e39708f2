// A tool of dlhost's: one command, and dlhost's own way to read it.
#include "cli/companions.h"
#include "cli/program.h"
#include "env/process/process.h"
#include "tools/tool.h"

namespace {

// It lies beside this one, in the build's tree or in an install's.
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
