// The parts of a param that the workers of a group hold, if not all hold all of it: ranges of its elements, which then
// lie plain in the master. A worker makes the gradient of what it holds, and reads no more.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <dlhost/message.h>

namespace dlhost::param {

struct Holder {
  std::uint32_t rank = 0; // in its group
  SampleRange rows;       // of the step: what it computes the gradient of

  bool operator==(const Holder&) const = default;
};

// By rank. Empty: all workers of the group, each for its own rows.
using Holders = std::vector<Holder>;

inline bool holds(const Holders& holders, std::uint32_t rank) {
  return holders.empty() || std::ranges::find(holders, rank, &Holder::rank) != holders.end();
}

struct ParamPart {
  std::int64_t first = 0, count = 0; // elements
  Holders holders;

  bool operator==(const ParamPart&) const = default;
};

// By the first element; together all of the param. Empty: all workers hold all of it.
using ParamParts = std::vector<ParamPart>;

inline const Holders& holders_of(const ParamParts& parts, std::size_t part) {
  static const Holders all;
  return parts.empty() ? all : parts[part].holders;
}

// The part that a worker holds, as an index. A param that is not in parts is one part. Empty: it holds none.
inline std::optional<std::size_t> part_of(const ParamParts& parts, std::uint32_t rank) {
  if (parts.empty()) return 0;
  const auto own = std::ranges::find_if(parts, [&](const ParamPart& part) { return holds(part.holders, rank); });
  return own == parts.end() ? std::nullopt : std::optional(static_cast<std::size_t>(own - parts.begin()));
}

} // namespace dlhost::param
