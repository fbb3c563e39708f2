#include "net/augment.h"

#include <algorithm>

namespace dlhost::net {

namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

} // namespace

Result<Augment> Augment::make(Host& host, std::span<const Part> parts, const TensorDesc& sample) {
  Augment chain;
  chain.result_ = sample;
  chain.source_bytes_ = sample.plain_bytes();
  for (const Part& part : parts) {
    if (!chain.empty()) chain.between_bytes_ = std::max(chain.between_bytes_, aligned(chain.result_.plain_bytes()));
    const auto place = concat("augmentation ", chain.steps_.size() + 1, " (", part.type, ")");
    auto made = host.make(Kind::augmentation, part);
    if (!made.ok()) return std::move(made).status().at(place);
    auto* step = dynamic_cast<Augmentation*>(made->get());
    if (!step) return Status::internal(place, ": is not an augmentation");
    (void)made->release();
    chain.steps_.emplace_back(step);
    auto result = step->setup(chain.result_);
    if (!result.ok()) return std::move(result).status().at(place);
    chain.result_ = *result;
  }
  return chain;
}

void Augment::apply(const std::byte* src, std::byte* dst, std::byte* scratch, bool training, Random& random) const {
  std::byte* halves[] = {scratch, scratch + between_bytes_};
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    std::byte* const into = i + 1 == steps_.size() ? dst : halves[i % 2];
    steps_[i]->apply(src, into, training, random);
    src = into;
  }
}

} // namespace dlhost::net
