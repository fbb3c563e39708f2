// The head of a .npy file of f32 values, C order.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace dlhost::param {

// The bytes before the data; a multiple of 64.
std::string npy_header(std::span<const std::int64_t> shape);

} // namespace dlhost::param
