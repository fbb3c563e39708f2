#include <dlhost/codec.h>

namespace dlhost {

Status Codec::add(std::span<const std::byte>, std::span<std::byte>) const {
  return Status::unsupported("this codec's encodings cannot be added: its traits say sums = false");
}

} // namespace dlhost
