#include "run/input/sampling.h"

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
    return Status::invalid(
        "a step takes ", sampling.stride_, " samples, but there are only ", samples,
        ", and last_batch = \"drop\" leaves out a batch that is not full: make the batch smaller, or say "
        "last_batch = \"wrap\" or last_batch = \"partial\"");
  return sampling;
}

Sampling::Sampling(const SamplingSpec& spec, std::uint64_t samples) : spec_(spec), samples_(samples) {
  const auto batch = static_cast<std::uint64_t>(spec.batch);
  stride_ = dealt() ? batch * static_cast<std::uint64_t>(spec.groups) : batch;
  offset_ = (dealt() ? batch * static_cast<std::uint64_t>(spec.group) : 0) + static_cast<std::uint64_t>(spec.first_row);
  steps_per_epoch_ = full_steps(samples);
  move(spec.origin);
}

// That so many samples of an epoch make.
std::uint64_t Sampling::full_steps(std::uint64_t samples) const {
  return spec_.last == Last::drop ? samples / stride_ : (samples + stride_ - 1) / stride_;
}

void Sampling::move(const SampleOrigin& origin) {
  spec_.origin = origin;
  first_steps_ = full_steps(samples_ - std::min(origin.index, samples_));
}

Sampling::Place Sampling::start(std::uint64_t step) const {
  const SampleOrigin& origin = spec_.origin;
  const std::uint64_t since = step - std::min(step, origin.step);
  if (spec_.last == Last::wrap) {
    const std::uint64_t all = origin.index + since * stride_;
    return {origin.epoch + static_cast<std::uint32_t>(all / samples_), all % samples_};
  }
  if (since < first_steps_) return {origin.epoch, origin.index + since * stride_};
  const std::uint64_t later = since - first_steps_;
  return {origin.epoch + 1 + static_cast<std::uint32_t>(later / steps_per_epoch_), later % steps_per_epoch_ * stride_};
}

Sampling::Place Sampling::place(std::uint64_t step, std::int64_t row) const {
  Place place = start(step);
  place.index += offset_ + static_cast<std::uint64_t>(row);
  if (spec_.last != Last::wrap) return {place.epoch, std::min(place.index, samples_ - 1)};
  return {place.epoch + static_cast<std::uint32_t>(place.index / samples_), place.index % samples_};
}

std::int64_t Sampling::valid(std::uint64_t step, std::uint64_t offset, std::int64_t rows) const {
  if (spec_.last != Last::partial) return rows;
  const std::uint64_t first = start(step).index + offset;
  return first >= samples_ ? 0 : std::min(rows, static_cast<std::int64_t>(samples_ - first));
}

std::int64_t Sampling::valid(std::uint64_t step) const { return valid(step, offset_, spec_.rows); }

std::int64_t Sampling::batch_valid(std::uint64_t step) const {
  return valid(step, offset_ - static_cast<std::uint64_t>(spec_.first_row), spec_.batch);
}

// Of an epoch in the midst of which the origin lies, the steps behind it are as long as all others.
double Sampling::epochs(std::uint64_t steps) const {
  const double since = static_cast<double>(steps) - static_cast<double>(spec_.origin.step);
  if (spec_.last != Last::wrap) return first_epochs() + since / per_epoch();
  const double read = static_cast<double>(spec_.origin.index) + since * static_cast<double>(stride_);
  return spec_.origin.epoch + read / static_cast<double>(samples_);
}

std::uint64_t Sampling::steps(double epochs) const {
  constexpr double for_ever = 0x1p62;
  const double since = std::ceil((epochs - first_epochs()) * per_epoch() - 1e-9);
  return spec_.origin.step + static_cast<std::uint64_t>(std::clamp(since, 0.0, for_ever));
}

// Steps.
double Sampling::per_epoch() const {
  return spec_.last == Last::wrap ? static_cast<double>(samples_) / static_cast<double>(stride_)
                                  : static_cast<double>(steps_per_epoch_);
}

// That were done at the origin.
double Sampling::first_epochs() const {
  if (spec_.last == Last::wrap)
    return spec_.origin.epoch + static_cast<double>(spec_.origin.index) / static_cast<double>(samples_);
  return spec_.origin.epoch + 1 - static_cast<double>(first_steps_) / per_epoch();
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
