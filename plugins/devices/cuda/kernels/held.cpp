#include "held.h"

#include <algorithm>
#include <cstring>

namespace dlhost::plugins::cuda {

void HeldCalls::add(KernelOp& op, const Call& call) {
  const Dynamic& dynamic = call.dynamic;
  put({.work = {.number = op.number(),
                .scratch = call.scratch,
                .in = call.in.size(),
                .out = call.out.size(),
                .scalars = dynamic.scalars.size(),
                .samples = dynamic.samples.size(),
                .sample = place_of(dynamic.samples)},
       .op = &op,
       .pointer = pointers_.size(),
       .scalar = scalars_.size(),
       .key = dynamic.key,
       .epoch = dynamic.epoch,
       .valid = dynamic.valid});
  for (const void* in : call.in) pointers_.push_back(const_cast<void*>(in));
  pointers_.insert(pointers_.end(), call.out.begin(), call.out.end());
  for (std::size_t p = calls_.back().pointer; p < pointers_.size(); ++p)
    mix(reinterpret_cast<std::uintptr_t>(pointers_[p]));
  scalars_.insert(scalars_.end(), dynamic.scalars.begin(), dynamic.scalars.end());
}

// All calls of a batch share one row of samples.
std::size_t HeldCalls::place_of(std::span<const std::uint32_t> samples) {
  if (samples.size() <= samples_.size()) {
    const auto last = std::span(samples_).last(samples.size());
    if (std::ranges::equal(last, samples)) return samples_.size() - samples.size();
  }
  samples_.insert(samples_.end(), samples.begin(), samples.end());
  return samples_.size() - samples.size();
}

void HeldCalls::add_move(void* to, const void* from, std::size_t bytes) {
  put({.work = {.bytes = bytes, .in = 1, .out = 1}, .pointer = pointers_.size(), .scalar = scalars_.size()});
  for (void* pointer : {const_cast<void*>(from), to}) {
    pointers_.push_back(pointer);
    mix(reinterpret_cast<std::uintptr_t>(pointer));
  }
}

void HeldCalls::put(const Held& held) {
  calls_.push_back(held);
  mix(held.work.number);
  mix(held.work.bytes);
}

// Left-out values (scratch, counts) are compared separately.
void HeldCalls::mix(std::uint64_t value) {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15;
  hash_ = (hash_ ^ value) * odd;
  hash_ ^= hash_ >> 32;
}

void HeldCalls::clear() {
  calls_.clear();
  pointers_.clear();
  scalars_.clear();
  samples_.clear();
  hash_ = 0;
}

bool HeldCalls::same_work(const HeldCalls& other) const {
  const auto alike = [](const Held& a, const Held& b) { return a.work == b.work; };
  return hash_ == other.hash_ && std::ranges::equal(calls_, other.calls_, alike) && pointers_ == other.pointers_;
}

bool HeldCalls::same_changing(const HeldCalls& other, std::size_t which) const {
  const Held &a = calls_[which], &b = other.calls_[which];
  const auto one = scalars(a), two = other.scalars(b);
  return a.valid == b.valid && a.epoch == b.epoch && a.key.seed == b.key.seed && a.key.stream == b.key.stream &&
         (one.empty() || std::memcmp(one.data(), two.data(), one.size_bytes()) == 0); // bitwise: 0 is not -0
}

std::span<const float> HeldCalls::scalars(const Held& held) const {
  return std::span(scalars_).subspan(held.scalar, held.work.scalars);
}

void HeldCalls::run(WorkStream& stream, std::size_t which, const std::uint32_t* samples) const {
  const Held& held = calls_[which];
  void* const* const pointers = pointers_.data() + held.pointer;
  if (!held.op) {
    if (Status status = stream.move_now(pointers[1], pointers[0], held.work.bytes); !status.ok())
      stream.fail(std::move(status));
    return;
  }
  Dynamic dynamic{.scalars = scalars(held), .valid = held.valid, .key = held.key, .epoch = held.epoch};
  if (held.work.samples > 0) dynamic.samples = {samples + held.work.sample, held.work.samples};
  held.op->perform(stream,
                   {{pointers, held.work.in}, {pointers + held.work.in, held.work.out}, held.work.scratch, dynamic});
}

const Op* HeldCalls::last_op() const {
  const auto last = std::find_if(calls_.rbegin(), calls_.rend(), [](const Held& held) { return held.op != nullptr; });
  return last == calls_.rend() ? nullptr : last->op;
}

} // namespace dlhost::plugins::cuda
