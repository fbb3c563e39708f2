#include <dlhost/parallel.h>

#include <algorithm>
#include <atomic>
#include <exception>

#ifdef _OPENMP
#include <omp.h>
#endif

// ThreadSanitizer does not see into the OpenMP library. So forks and joins are reported here, and arguments passed by
// that library are read and written in an uninstrumented function.
#ifdef DLHOST_THREAD_SANITIZER
extern "C" void __tsan_acquire(void*);
extern "C" void __tsan_release(void*);
#define DLHOST_BEFORE(word) __tsan_release(&(word))
#define DLHOST_AFTER(word) __tsan_acquire(&(word))
#define DLHOST_UNSEEN __attribute__((no_sanitize("thread")))
#else
#define DLHOST_BEFORE(word) static_cast<void>(word)
#define DLHOST_AFTER(word) static_cast<void>(word)
#define DLHOST_UNSEEN
#endif

namespace dlhost {
namespace {

// Keeps the first exception of any task; after it no new tasks start.
class FirstError {
 public:
  bool any() const { return taken_.load(std::memory_order_relaxed); }
  void take(std::exception_ptr error) {
    if (!taken_.exchange(true)) error_ = std::move(error);
  }
  void rethrow() {
    if (error_) std::rethrow_exception(std::move(error_));
  }

 private:
  std::atomic<bool> taken_{false};
  std::exception_ptr error_;
};

} // namespace

#ifdef _OPENMP

namespace {

// The state that the threads of one region share.
class ParallelRegion {
 public:
  ParallelRegion(std::int64_t tasks, void* context, void (*call)(void* context, std::int64_t task), int threads)
      : tasks_(tasks), context_(context), call_(call), threads_(threads), next_(threads) {
    DLHOST_BEFORE(fork_);
  }

  // Each thread's first task is the same in every call, so that it finds its data in its cache. If the team is smaller
  // than requested, thread 0 takes the tasks of the missing threads.
  void work(int thread, int team) {
    DLHOST_AFTER(fork_);
    std::int64_t task = thread;
    std::int64_t missing = thread == 0 ? team : threads_;
    try {
      while (task < tasks_ && !error_.any()) {
        call_(context_, task);
        task = missing < threads_ ? missing++ : next_.fetch_add(1, std::memory_order_relaxed);
      }
    } catch (...) {
      error_.take(std::current_exception());
    }
    DLHOST_BEFORE(join_);
  }

  void end() {
    DLHOST_AFTER(join_);
    error_.rethrow();
  }

 private:
  const std::int64_t tasks_;
  void* const context_;
  void (*const call_)(void* context, std::int64_t task);
  const std::int64_t threads_;
  std::atomic<std::int64_t> next_;
  FirstError error_;
  char fork_ = 0, join_ = 0;
};

DLHOST_UNSEEN void run(ParallelRegion& region, int threads) {
#pragma omp parallel num_threads(threads)
  region.work(omp_get_thread_num(), omp_get_num_threads());
}

} // namespace

int parallel_threads() { return omp_in_parallel() ? 1 : omp_get_max_threads(); }

void set_parallel_threads(int threads) { omp_set_num_threads(std::max(1, threads)); }

namespace detail {

void parallel(std::int64_t tasks, void* context, void (*call)(void* context, std::int64_t task)) {
  const auto threads = static_cast<int>(std::min<std::int64_t>(tasks, parallel_threads()));
  if (threads <= 1) {
    for (std::int64_t task = 0; task < tasks; ++task) call(context, task);
    return;
  }
  ParallelRegion region(tasks, context, call, threads);
  run(region, threads);
  region.end();
}

} // namespace detail

#else

int parallel_threads() { return 1; }

void set_parallel_threads(int) {}

namespace detail {

void parallel(std::int64_t tasks, void* context, void (*call)(void* context, std::int64_t task)) {
  for (std::int64_t task = 0; task < tasks; ++task) call(context, task);
}

} // namespace detail

#endif

} // namespace dlhost
