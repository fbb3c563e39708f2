// The text of a kernel that makes the elements of a map: the expression's steps one after another, in f32, with the
// same rounding as when they are interpreted. Plain C++ but for a few words, so that a test runs it on the host.
#pragma once

#include <span>

#include <dlhost/ops.h>

#include "elements.h"

namespace dlhost::plugins::cuda {

// `made`: the step that makes an output; no_result: another kernel does. `pieces`: at most so many in one launch.
inline constexpr std::uint16_t no_result = 0xffff;
Result<ElementSource> source_of(const MapSpec&, const Shape& space, std::span<const std::uint16_t> made,
                                std::size_t pieces);

} // namespace dlhost::plugins::cuda
