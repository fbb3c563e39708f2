#include "param/published.h"

#include <algorithm>
#include <new>

namespace dlhost::param {
namespace {

constexpr std::size_t records = 2;

} // namespace

static_assert(std::atomic<std::uint64_t>::is_always_lock_free,
              "processes share it, and one may be killed at any point");

std::size_t Published::bytes(std::size_t slices, std::size_t contributors) {
  return slices * (sizeof(Head) + records * record_bytes(contributors));
}

std::byte* Published::of(SliceId slice) const { return memory_.data() + slice * bytes(1, contributors_); }

Published::Head& Published::head(SliceId slice) const { return *std::launder(reinterpret_cast<Head*>(of(slice))); }

std::byte* Published::record(SliceId slice, std::uint64_t number) const {
  return of(slice) + sizeof(Head) + number % records * record_bytes(contributors_);
}

void Published::clear(SliceId slice) { new (of(slice)) Head; }

void Published::add(SliceId slice, const Record& record) {
  Head& head = this->head(slice);
  const std::uint64_t count = head.count.load(std::memory_order_relaxed);
  std::byte* at = this->record(slice, count);
  new (at) Fixed{record.version, record.value, record.history, record.heard};
  std::copy(record.applied.begin(), record.applied.end(), reinterpret_cast<std::uint64_t*>(at + sizeof(Fixed)));
  head.count.store(count + 1, std::memory_order_release);
}

bool Published::has(SliceId slice) const { return head(slice).count.load(std::memory_order_acquire) > 0; }

Published::Record Published::read(SliceId slice, std::uint64_t number) const {
  const std::byte* at = record(slice, number);
  const Fixed& fixed = *std::launder(reinterpret_cast<const Fixed*>(at));
  return {fixed.version, fixed.value, fixed.history, fixed.heard,
          std::span(reinterpret_cast<const std::uint64_t*>(at + sizeof(Fixed)), contributors_)};
}

Published::Record Published::newest(SliceId slice) const {
  return read(slice, head(slice).count.load(std::memory_order_acquire) - 1);
}

bool Published::find(SliceId slice, Version version, Record& found) const {
  const std::uint64_t count = head(slice).count.load(std::memory_order_acquire);
  for (std::uint64_t back = 1; back <= std::min<std::uint64_t>(count, records); ++back)
    if (found = read(slice, count - back); found.version == version) return true;
  return false;
}

} // namespace dlhost::param
