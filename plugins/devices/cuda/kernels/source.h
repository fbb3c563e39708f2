// The source of a kernel for the elements of a map: the expression's steps in f32, rounded as the interpreter does.
// Plain C++ but for a few keywords, so that a test runs it on the host.
#pragma once

#include <span>

#include <dlhost/ops.h>

#include "elements.h"

namespace dlhost::plugins::cuda {

// `made`: the step that computes an output; no_result: another kernel does. `pieces`: maximum in one launch.
inline constexpr std::uint16_t no_result = 0xffff;
Result<ElementSource> source_of(const MapSpec&, const Shape& space, std::span<const std::uint16_t> made,
                                std::size_t pieces);

} // namespace dlhost::plugins::cuda
