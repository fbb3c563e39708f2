// The identity of contributions: types that the table, consistency handlers, syncs and codecs share.
#pragma once

#include <cstdint>
#include <span>

#include <dlhost/tensor.h>

namespace dlhost {

using SliceId = std::uint32_t;
using Version = std::uint64_t;

// Samples [first, first + count) of a step, in the step's order.
struct SampleRange {
  std::uint64_t first = 0;
  std::uint32_t count = 0;
  bool operator==(const SampleRange&) const = default;
};

// Identifies an update, from whichever process it comes: retries are detected, and stale epochs refused.
struct Identity {
  std::uint32_t epoch = 0; // of the job's membership
  std::uint16_t group = 0;
  std::uint16_t rank = 0;
  std::uint64_t step = 0;
  SliceId slice = 0;
  SampleRange samples;
  bool operator==(const Identity&) const = default;
};

// The form of a worker's contribution to a slice.
enum class ContributionKind : std::uint8_t {
  dense,   // f32, laid like the master
  rows,    // indices and rows of a table
  factors, // two matrices, to be multiplied
  delta,   // a difference of values, added unchanged
  encoded, // by a codec
};

struct Contribution {
  ContributionKind kind = ContributionKind::dense;
  Identity who;
  Version based_on = 0; // the version that the worker computed with
  std::int64_t elements = 0;
  std::span<const std::byte> bytes;
};

} // namespace dlhost
