// Counts what this whole process takes from the heap, by whose code: every malloc, operator new and the like, of the
// program, its plugins and the libraries behind them. A test program that links heap_watch.cpp has them replaced.
#pragma once

#include <cstdint>
#include <string>

namespace dlhost::test {

struct HeapUse {
  std::uint64_t ours = 0;      // asked for by dlhost, its plugins and what they call
  std::uint64_t libraries = 0; // by oneDNN and libgomp
};

// Between the two, each allocation is traced to the code that asks for it.
void watch_heap();
HeapUse stop_watching_heap();
bool is_watching_heap();
// Who asked, for messages: the functions around the first few of our allocations.
std::string first_of_ours();

} // namespace dlhost::test
