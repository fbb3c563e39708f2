// Values of tensors on the host: numbers in row-major order, whatever dtype and format a device holds them in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <dlhost/tensor.h>

namespace dlhost::conform {

using Values = std::vector<double>;

// As the dtype would hold them.
Values rounded(const Values&, DType);
std::vector<std::byte> plain_bytes(const Values&, DType);
Values from_plain_bytes(const std::vector<std::byte>&, DType);

// Uniform in [0, 1), the same for the same name and seed.
Values uniform(std::uint64_t seed, std::string_view name, std::int64_t count);

// The relative distance of neighbouring numbers.
double epsilon_of(DType);
double largest(const Values&); // magnitude; 0 for none

} // namespace dlhost::conform
