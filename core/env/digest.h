// What stands for bytes where they are compared: BLAKE2b, in hexadecimal. Any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace dlhost::env {

// `bytes` of the digest: 16 to 64, or the first 8 of 16.
std::string digest(std::span<const std::byte>, std::size_t bytes = 32);

} // namespace dlhost::env
