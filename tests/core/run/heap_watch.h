// Counts the heap allocations of the whole process, by owner: every malloc, operator new etc. of the program, its
// plugins and their libraries. Test programs that link heap_watch.cpp get replaced allocation functions.
#pragma once

#include <cstdint>
#include <string>

namespace dlhost::test {

struct HeapUse {
  std::uint64_t ours = 0;      // by dlhost, its plugins and functions that they call
  std::uint64_t libraries = 0; // by oneDNN and libgomp
};

// Between these two calls, each allocation is traced to its caller.
void watch_heap();
HeapUse stop_watching_heap();
bool is_watching_heap();
// The callers of the first few allocations counted as `ours`, for messages.
std::string first_of_ours();

} // namespace dlhost::test
