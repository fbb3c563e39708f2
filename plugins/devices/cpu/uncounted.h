// Average pools whose windows reach into uncounted padding at the end of an axis, besides counted padding: oneDNN
// counts all padding or none.
#pragma once

#include <cstdint>
#include <memory>

#include "prepare.h"

namespace dlhost::plugins::cpu {

// The padding that an average counts.
enum class Counting : std::uint8_t { none, some, all };
Counting counting(const PoolSpec&);
// Turns an op that counts all padding into one that counts as the spec says.
Prepared without_uncounted(std::unique_ptr<Op> counts_all, const PoolSpec&);

} // namespace dlhost::plugins::cpu
