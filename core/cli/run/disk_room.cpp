#include "cli/run/disk_room.h"

#include <algorithm>

#include <fmt/format.h>

#include "env/process/machine.h"
#include "record/quantity.h"

namespace dlhost::cli {
namespace {

// Values and what the updater keeps of them, in f32.
std::uint64_t checkpoint_bytes(const param::Store& store) {
  std::uint64_t bytes = 0;
  for (const auto& param : store.params())
    bytes += std::uint64_t{param->master.plain_bytes()} * (param->updated ? 1 + param->slots : 1);
  return bytes;
}

// Checkpoints that lie there, of a run that goes on.
std::uint64_t count_saved(Disk& disk, const std::string& folder) {
  const auto entries = disk.list(folder);
  if (!entries.ok()) return 0;
  const auto saved = [](const DirectoryEntry& entry) {
    return entry.name == "best" || entry.name.starts_with("step-");
  };
  return static_cast<std::uint64_t>(std::ranges::count_if(*entries, saved));
}

} // namespace

Status check_disk_room(run::Session& session, const std::string& folder) {
  const config::Job& job = session.job();
  const auto free = env::free_bytes_of_disk(folder);
  if (job.checkpoint.keep == 0 || !free) return {};
  const std::uint64_t one = checkpoint_bytes(session.store());
  const auto kept = static_cast<std::uint64_t>(job.checkpoint.keep) + (job.checkpoint.best != "none" ? 1 : 0);
  // A new one is whole before the oldest is removed.
  const std::uint64_t all = one * (kept + 1 - std::min(kept, count_saved(session.host().disk(), folder)));
  if (*free >= all) return {};
  const std::string found = fmt::format("a checkpoint of this net takes {}, and the disk of '{}' has {} free",
                                        record::short_bytes(one), folder, record::short_bytes(*free));
  if (*free < one)
    return config::invalid_at(job.place("checkpoint"), found,
                              ": make room, name another folder (checkpoint.folder, record.folder), or train without "
                              "checkpoints (checkpoint.keep = 0)");
  session.host().log().write(
      LogLevel::warning,
      fmt::format("{}; up to {} of them are kept (checkpoint.keep, checkpoint.best_by), and one more is "
                  "written before the oldest is removed: make room, keep fewer, or name another folder "
                  "(checkpoint.folder)",
                  found, kept));
  return {};
}

} // namespace dlhost::cli
