#include <dlhost/codec.h>

namespace dlhost {

std::size_t Codec::learns(const Shape&) const { return 0; }

Status Codec::add(std::span<const std::byte>, std::span<std::byte>) const {
  return Status::unsupported("this codec's encodings cannot be added: its traits say sums = false");
}

Status Codec::learn(std::span<const std::byte>, const Shape&, std::span<const std::byte>, State) { return {}; }

} // namespace dlhost
