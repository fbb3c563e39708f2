#include <dlhost/parallel.h>

#include <algorithm>
#include <atomic>
#include <exception>

#ifdef _OPENMP
#include <omp.h>
#endif

// ThreadSanitizer does not see through libgomp: the fork and the join of a region are told to it here. The words lie
// outside the region's data, which the threads must not read before they have said that they follow the fork.
#if defined(__SANITIZE_THREAD__)
#define DLHOST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DLHOST_TSAN 1
#endif
#endif
#ifdef DLHOST_TSAN
extern "C" void __tsan_acquire(void*);
extern "C" void __tsan_release(void*);
#endif

namespace dlhost {
namespace {

#ifdef DLHOST_TSAN
char fork_word, join_word;
void before(char& word) { __tsan_release(&word); }
void after(char& word) { __tsan_acquire(&word); }
#define DLHOST_BEFORE(word) before(word)
#define DLHOST_AFTER(word) after(word)
#else
#define DLHOST_BEFORE(word) static_cast<void>(0)
#define DLHOST_AFTER(word) static_cast<void>(0)
#endif

// The first exception of any task; later tasks are not started any more.
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

int parallel_threads() { return omp_in_parallel() ? 1 : omp_get_max_threads(); }

void set_parallel_threads(int threads) { omp_set_num_threads(std::max(1, threads)); }

namespace detail {

void parallel(std::int64_t tasks, void* context, void (*call)(void* context, std::int64_t task)) {
  const auto threads = static_cast<int>(std::min<std::int64_t>(tasks, parallel_threads()));
  if (threads <= 1) {
    for (std::int64_t task = 0; task < tasks; ++task) call(context, task);
    return;
  }
  FirstError error;
  std::atomic<std::int64_t> next{threads};
  DLHOST_BEFORE(fork_word);
#pragma omp parallel num_threads(threads)
  {
    DLHOST_AFTER(fork_word);
    // The first task of each thread is the same in every call, so that what it left in its cache is found again.
    // A team may be smaller than asked for: then the tasks of those who are missing are taken by thread 0.
    std::int64_t task = omp_get_thread_num();
    std::int64_t missing = task == 0 ? omp_get_num_threads() : threads;
    try {
      while (task < tasks && !error.any()) {
        call(context, task);
        task = missing < threads ? missing++ : next.fetch_add(1, std::memory_order_relaxed);
      }
    } catch (...) {
      error.take(std::current_exception());
    }
    DLHOST_BEFORE(join_word);
  }
  DLHOST_AFTER(join_word);
  error.rethrow();
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
