// Values of tensors on the host: numbers in row-major order, independent of the device's dtype and format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <dlhost/tensor.h>

namespace dlhost::conform {

using Values = std::vector<double>;

// The values, rounded to the dtype.
Values rounded(const Values&, DType);
std::vector<std::byte> plain_bytes(const Values&, DType);
Values from_plain_bytes(const std::vector<std::byte>&, DType);

// Uniform in [0, 1), the same for equal names and seeds.
Values uniform(std::uint64_t seed, std::string_view name, std::int64_t count);

// The relative distance of adjacent numbers.
double epsilon_of(DType);
double largest(const Values&); // magnitude; 0 for none

} // namespace dlhost::conform
