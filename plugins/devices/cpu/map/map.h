// The two shapes of elementwise op, and what they share.
#pragma once

#include <cstdint>
#include <memory>

#include <dlhost/ops.h>

#include "kernels.h"

namespace dlhost::plugins::cpu {

// More inputs or results than this no expression may have here.
inline constexpr std::size_t max_operands = 24;

// All tensors lie alike.
std::unique_ptr<Op> make_flat_map(const MapSpec&, const MapKernels&, int threads);
// Broadcasting and sums; all plain.
std::unique_ptr<Op> make_broadcast_map(const MapSpec&, const MapKernels&, int threads);
// The op for a spec with the kernels of any instruction set; `threads` as many as a run may use.
Result<std::unique_ptr<Op>> make_map(const MapSpec&, const MapKernels&, int threads);

// Draw `number` of the elements [first, first + count) of an index space with rows of `row_size`.
void draw_rows(const MapKernels&, const Dynamic&, std::int64_t row_size, std::uint16_t number, std::int64_t first,
               std::int64_t count, float* dst);

} // namespace dlhost::plugins::cpu
