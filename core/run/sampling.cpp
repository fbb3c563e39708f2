#include "run/sampling.h"

#include <algorithm>
#include <cmath>

namespace dlhost::run {

namespace {

// Streams of draws beside the layers' own, which are small numbers.
constexpr std::uint32_t order_stream = 0x4f524400;
constexpr std::uint32_t bootstrap_stream = 0x42535400;

DrawKey key_of(const SamplingSpec& spec, std::uint32_t stream) {
  // Groups that deal out one order share its key.
  const std::uint64_t group = spec.share == Share::disjoint ? 0 : static_cast<std::uint64_t>(spec.group);
  return {spec.seed ^ group * 0xbf58476d1ce4e5b9, stream + spec.stream};
}

} // namespace

Result<Sampling> Sampling::make(const SamplingSpec& asked, std::int64_t samples) {
  SamplingSpec spec = asked;
  if (spec.rows == 0) spec.rows = spec.batch;
  if (spec.batch <= 0 || spec.first_row < 0 || spec.rows <= 0 || spec.first_row + spec.rows > spec.batch ||
      spec.groups <= 0 || spec.group < 0 || spec.group >= spec.groups)
    return Status::internal("sampling: rows ", spec.first_row, "+", spec.rows, " of a batch of ", spec.batch,
                            ", group ", spec.group, " of ", spec.groups);
  if (samples <= 0) return Status::invalid("the source has no samples for this phase");
  if (samples > std::numeric_limits<std::uint32_t>::max())
    return Status::unsupported("the source has ", samples, " samples, but at most 2^32 - 1 can be told apart");
  const Sampling sampling(spec, static_cast<std::uint64_t>(samples));
  if (spec.last == Last::drop && sampling.steps_per_epoch_ == 0)
    return Status::invalid("a step takes ", sampling.stride_, " samples, but there are only ", samples,
                           ", and last = \"drop\" leaves out a batch that is not full: make the batch smaller, or say "
                           "last = \"wrap\" or last = \"partial\"");
  return sampling;
}

Sampling::Sampling(const SamplingSpec& spec, std::uint64_t samples) : spec_(spec), samples_(samples) {
  const auto batch = static_cast<std::uint64_t>(spec.batch);
  stride_ = dealt() ? batch * static_cast<std::uint64_t>(spec.groups) : batch;
  offset_ = (dealt() ? batch * static_cast<std::uint64_t>(spec.group) : 0) + static_cast<std::uint64_t>(spec.first_row);
  steps_per_epoch_ = spec.last == Last::drop ? samples / stride_ : (samples + stride_ - 1) / stride_;
}

Sampling::Place Sampling::place(std::uint64_t step, std::int64_t row) const {
  const std::uint64_t ahead = offset_ + static_cast<std::uint64_t>(row);
  if (spec_.last == Last::wrap) {
    const std::uint64_t all = step * stride_ + ahead;
    return {static_cast<std::uint32_t>(all / samples_), all % samples_};
  }
  const std::uint64_t index = step % steps_per_epoch_ * stride_ + ahead;
  return {static_cast<std::uint32_t>(step / steps_per_epoch_), std::min(index, samples_ - 1)};
}

std::int64_t Sampling::valid(std::uint64_t step, std::uint64_t offset, std::int64_t rows) const {
  if (spec_.last != Last::partial) return rows;
  const std::uint64_t first = step % steps_per_epoch_ * stride_ + offset;
  return first >= samples_ ? 0 : std::min(rows, static_cast<std::int64_t>(samples_ - first));
}

std::int64_t Sampling::valid(std::uint64_t step) const { return valid(step, offset_, spec_.rows); }

std::int64_t Sampling::batch_valid(std::uint64_t step) const {
  return valid(step, offset_ - static_cast<std::uint64_t>(spec_.first_row), spec_.batch);
}

double Sampling::epochs(std::uint64_t steps) const {
  if (spec_.last == Last::wrap)
    return static_cast<double>(steps) * static_cast<double>(stride_) / static_cast<double>(samples_);
  return static_cast<double>(steps) / static_cast<double>(steps_per_epoch_);
}

std::uint64_t Sampling::steps(double epochs) const {
  const double per_epoch = spec_.last == Last::wrap ? static_cast<double>(samples_) / static_cast<double>(stride_)
                                                    : static_cast<double>(steps_per_epoch_);
  constexpr double for_ever = 0x1p62;
  return static_cast<std::uint64_t>(std::min(std::ceil(epochs * per_epoch - 1e-9), for_ever));
}

Sampling::Order::Order(const Sampling& sampling, std::uint32_t epoch)
    : sampling_(&sampling), permutation_(key_of(sampling.spec_, order_stream), epoch, sampling.samples_) {}

std::uint32_t Sampling::Order::operator[](std::uint64_t index) const {
  const SamplingSpec& spec = sampling_->spec_;
  if (spec.shuffle) index = permutation_(index);
  if (spec.share == Share::bootstrap) {
    // The sample in slot `index` of the group's draw, the same in every epoch.
    Random random(key_of(spec, bootstrap_stream), 0, static_cast<std::uint32_t>(index));
    return random.below(static_cast<std::uint32_t>(sampling_->samples_));
  }
  return static_cast<std::uint32_t>(index);
}

} // namespace dlhost::run
