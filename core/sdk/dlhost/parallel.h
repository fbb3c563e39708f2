// Parallel work inside a layer, device or updater. All parallel work of plugins goes through here: it uses the calling
// worker's threads, passes on the first exception, and tells thread sanitizers about forks and joins.
#pragma once

#include <cstdint>
#include <type_traits>

#include <dlhost/visibility.h>

namespace dlhost {

namespace detail {
DLHOST_API void parallel(std::int64_t tasks, void* context, void (*call)(void* context, std::int64_t task));
}

// The number of threads of parallel() for the calling task.
DLHOST_API int parallel_threads();
// Sets it for the calling task and its callees; core calls it once for each worker.
DLHOST_API void set_parallel_threads(int);

// Calls body(i) for each i in [0, tasks), in any order, on the worker's threads. Returns when all are done.
template <class Body> void parallel(std::int64_t tasks, Body&& body) {
  detail::parallel(tasks, &body, [](void* context, std::int64_t task) {
    (*static_cast<std::remove_reference_t<Body>*>(context))(task);
  });
}

// Calls body(first, last) over [0, count), cut into an even piece for each thread, each at least `grain` long.
template <class Body> void parallel_ranges(std::int64_t count, std::int64_t grain, Body&& body) {
  const std::int64_t most = parallel_threads();
  const std::int64_t pieces =
      count / (grain > 0 ? grain : 1) < most ? (count + grain - 1) / (grain > 0 ? grain : 1) : most;
  if (pieces <= 1) {
    if (count > 0) body(std::int64_t{0}, count);
    return;
  }
  parallel(pieces, [&](std::int64_t piece) { body(count * piece / pieces, count * (piece + 1) / pieces); });
}

} // namespace dlhost
