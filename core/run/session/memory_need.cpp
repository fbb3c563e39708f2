#include "run/session/memory_need.h"

#include <algorithm>

#include "record/quantity.h"

namespace dlhost::run {
namespace {

using record::short_bytes;

std::string largest(std::vector<MemoryNeed::Part> parts) {
  constexpr std::size_t shown = 6;
  std::ranges::stable_sort(parts, std::greater<>{}, &MemoryNeed::Part::bytes);
  std::string lines;
  for (std::size_t i = 0; i < std::min(parts.size(), shown); ++i)
    lines += concat("\n  ", short_bytes(parts[i].bytes), "  ", parts[i].what);
  std::uint64_t rest = 0;
  for (std::size_t i = shown; i < parts.size(); ++i) rest += parts[i].bytes;
  if (rest > 0) lines += concat("\n  ", short_bytes(rest), "  ", parts.size() - shown, " others");
  return lines;
}

} // namespace

MemoryNeed several(MemoryNeed one, const SharedNeed& shared) {
  for (MemoryNeed::Part& part : one.parts) {
    part.what += concat(", of ", shared.workers, " workers");
    part.bytes *= shared.workers;
  }
  one.shared = shared.workers * shared.each + shared.together;
  one.parts.push_back(
      {concat("gradients, running state and values of their own, in shared memory, of ", shared.workers, " workers"),
       shared.workers * shared.each});
  one.parts.push_back({"params in shared memory, in all versions that are there at once, with what the updater keeps",
                       shared.together});
  if (shared.summed > 0) one.parts.push_back({"sums of what servers decode or fold in", shared.summed});
  one.total = one.total * shared.workers + one.shared + shared.summed;
  one.by_batch *= shared.workers;
  return one;
}

Status check_shared_room(const MemoryNeed& need, std::uint64_t free, const std::string& place) {
  if (need.shared <= free) return {};
  return Status::no_space(
      "the job's workers share ", short_bytes(need.shared), " of memory, and ", short_bytes(free), " are free in ",
      place, "; make it larger (mount -o remount,size=... ", place,
      ", or docker run --shm-size=...), or take fewer workers. What takes most:", largest(need.parts));
}

Status check_room(const MemoryNeed& need, std::uint64_t available, const std::string& batch_key, std::int64_t batch) {
  if (need.total <= available) return {};
  const std::uint64_t fixed = need.total - need.by_batch;
  const auto samples = static_cast<std::uint64_t>(batch);
  const std::uint64_t sample = std::max<std::uint64_t>((need.by_batch + samples - 1) / samples, 1);
  const std::uint64_t fits = available > fixed ? (available - fixed) / sample : 0;
  const std::string remedy =
      fits > 0
          ? concat("a smaller batch fits: ", batch_key, " = ", fits, ", or a little less")
          : concat("no batch is small enough: take fewer units, ", need.shared > 0 ? "fewer workers, " : "",
                   "an updater that keeps less, or a ", need.of.empty() ? "machine" : "device", " with more memory");
  return Status::no_space("the job needs ", short_bytes(need.total), " of ", need.of.empty() ? "memory" : need.of,
                          ", and ", short_bytes(available), " are available; ", remedy,
                          ". What takes most:", largest(need.parts));
}

} // namespace dlhost::run
