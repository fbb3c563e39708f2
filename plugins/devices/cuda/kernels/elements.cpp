#include "elements.h"

#include <algorithm>
#include <cstring>

namespace dlhost::plugins::cuda {

ElementArguments::ElementArguments(const ElementSource& source)
    : of_a_block_(std::int64_t{ElementSource::threads} * source.together), alignment_(source.alignment),
      pieces_(source.pieces), to_(std::max<std::size_t>(1, source.pieces * source.inputs) * sizeof(void*)),
      start_(to_ + source.pieces * source.outputs * sizeof(void*)),
      first_block_(start_ + (source.pieces + 1) * sizeof(std::int64_t)),
      counts_(first_block_ + (source.pieces + 1) * sizeof(std::int32_t)), scalars_(counts_ + 2 * sizeof(std::int32_t)),
      size_((scalars_ + std::max<std::size_t>(1, source.scalars) * sizeof(float) + 7) / 8 * 8),
      bytes_(std::make_unique<std::byte[]>(size_)) {}

std::int64_t ElementArguments::fill(const ElementRun& run) {
  std::byte* const bytes = bytes_.get();
  const auto put = [bytes](std::size_t at, const auto& list) {
    std::memcpy(bytes + at, list.data(), list.size_bytes());
  };
  put(0, run.from);
  put(to_, run.to);
  put(start_, run.start);
  put(scalars_, run.scalars);
  std::int32_t blocks = 0;
  for (std::size_t piece = 0; piece < run.start.size(); ++piece) {
    std::memcpy(bytes + first_block_ + piece * sizeof blocks, &blocks, sizeof blocks);
    if (piece + 1 == run.start.size()) break;
    blocks += static_cast<std::int32_t>((run.start[piece + 1] - run.start[piece] + of_a_block_ - 1) / of_a_block_);
  }
  bool aligned = true;
  const auto look = [&](const void* pointer) {
    aligned = aligned && reinterpret_cast<std::uintptr_t>(pointer) % alignment_ == 0;
  };
  for (const void* pointer : run.from) look(pointer);
  for (const void* pointer : run.to) look(pointer);
  const std::int32_t counts[2] = {static_cast<std::int32_t>(run.start.size() - 1), aligned ? 1 : 0};
  std::memcpy(bytes + counts_, counts, sizeof counts);
  return blocks;
}

} // namespace dlhost::plugins::cuda
