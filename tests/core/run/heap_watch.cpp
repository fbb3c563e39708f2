#include "heap_watch.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <dlfcn.h>
#include <execinfo.h>
#include <malloc.h>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace {

constexpr int most_frames = 24;
struct Trace {
  std::array<void*, most_frames> frames;
  int count = 0;
};

std::atomic<bool> watching{false};
std::atomic<std::uint64_t> ours{0}, libraries{0};
std::array<Trace, 4> traces;
std::atomic<std::size_t> traced{0};
constinit thread_local bool inside = false; // in the tracing, which may allocate

bool is_of(const void* address, std::initializer_list<std::string_view> names) {
  Dl_info info{};
  if (!dladdr(address, &info) || !info.dli_fname) return false;
  for (const auto name : names)
    if (std::strstr(info.dli_fname, name.data())) return true;
  return false;
}

void note() {
  if (!watching.load(std::memory_order_relaxed) || inside) return;
  inside = true;
  Trace trace;
  trace.count = backtrace(trace.frames.data(), most_frames);
  int at = 2; // skips this function and the replaced one
  while (at < trace.count && is_of(trace.frames[static_cast<std::size_t>(at)], {"/libstdc++.", "/libc.", "/libm."}))
    ++at;
  if (at < trace.count && is_of(trace.frames[static_cast<std::size_t>(at)], {"/libdnnl.", "/libgomp"})) {
    ++libraries;
  } else {
    ++ours;
    if (const std::size_t place = traced++; place < traces.size()) traces[place] = trace;
  }
  inside = false;
}

} // namespace

extern "C" {

void* malloc(std::size_t size) {
  note();
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  note();
  return __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) {
  note();
  return __libc_realloc(memory, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  note();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  note();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  note();
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}
void free(void* memory) { __libc_free(memory); }

} // extern "C"

namespace dlhost::test {

void watch_heap() {
  void* frame = nullptr;
  backtrace(&frame, 1); // the first call loads the unwinder
  ours = libraries = 0;
  traced = 0;
  watching = true;
}

HeapUse stop_watching_heap() {
  watching = false;
  return {ours, libraries};
}

bool is_watching_heap() { return watching; }

std::string first_of_ours() {
  std::string text;
  for (std::size_t i = 0; i < std::min(traces.size(), traced.load()); ++i) {
    char** names = backtrace_symbols(traces[i].frames.data(), traces[i].count);
    for (int at = 2; names && at < traces[i].count; ++at) text += std::string("  ") + names[at] + "\n";
    std::free(names);
    text += "\n";
  }
  return text;
}

} // namespace dlhost::test
