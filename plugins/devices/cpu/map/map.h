// The two forms of elementwise ops, and their common parts.
#pragma once

#include <cstdint>
#include <memory>

#include <dlhost/ops.h>

#include "kernels.h"

namespace dlhost::plugins::cpu {

// The most inputs or results of an expression here.
inline constexpr std::size_t max_operands = 24;

// All tensors have the same layout.
std::unique_ptr<Op> make_flat_map(const MapSpec&, const MapKernels&, int threads);
// With broadcasting and sums; all tensors plain.
std::unique_ptr<Op> make_broadcast_map(const MapSpec&, const MapKernels&, int threads);
// The op for a spec with the kernels of any instruction set; `threads`: the most that a run may use.
Result<std::unique_ptr<Op>> make_map(const MapSpec&, const MapKernels&, int threads);

// Draw `number` of the elements [first, first + count) in an index space with rows of `row_size`.
void draw_rows(const MapKernels&, const Dynamic&, std::int64_t row_size, std::uint16_t number, std::int64_t first,
               std::int64_t count, float* dst);

} // namespace dlhost::plugins::cpu
