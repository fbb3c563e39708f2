#include "plugin/explained.h"

namespace dlhost::plugin {

std::string looked_in(const Catalogue& catalogue, bool everywhere) {
  std::string looked;
  for (const auto& entry : catalogue.entries) {
    const bool refused = !entry.problems.empty();
    if (!everywhere && !entry.exists && !refused) continue;
    looked += concat(looked.empty() ? "" : ", ", entry.where.path, " (", entry.where.origin,
                     refused        ? concat("; not used: ", joined(entry.problems))
                     : entry.exists ? ""
                                    : "; does not exist",
                     ")");
  }
  return looked.empty() ? "no folder" : looked;
}

Status any_found(const Catalogue& catalogue) {
  if (!catalogue.candidates.empty()) return {};
  return Status::not_found("no plugins were found, and everything in a job is one; looked in ",
                           looked_in(catalogue, true),
                           ". Name their folder with --plugin-dir or DLHOST_PLUGIN_PATH, or install dlhost again; of "
                           "a build it is build/plugins, which ./dev exec and ./dev shell name");
}

} // namespace dlhost::plugin
