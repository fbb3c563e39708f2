#include "device/lab.h"

#include <algorithm>
#include <stdexcept>

#if __has_include(<sanitizer/asan_interface.h>) // without this sanitizer its macros do nothing
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(begin, size) (static_cast<void>(begin), static_cast<void>(size))
#define ASAN_UNPOISON_MEMORY_REGION(begin, size) (static_cast<void>(begin), static_cast<void>(size))
#endif

namespace dlhost::conform {

namespace {

constexpr std::size_t guard = 256; // preserves every alignment that a device requires
constexpr std::byte guard_byte{0xa5};

} // namespace

void need(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

Lab::Lab(Device& device) : device_(device), stream_(need(device.stream())) {}

Guarded Lab::room(std::size_t bytes) {
  Guarded made{need(Memory::make(device_, bytes + 2 * guard)), guard, bytes};
  std::vector<std::byte> content(bytes + 2 * guard, guard_byte);
  std::fill_n(content.begin() + guard, bytes, std::byte{0xff});
  write(made.memory.data(), content);
  forbid_guards(made);
  return made;
}

void Lab::forbid_guards(const Guarded& memory) {
  if (!device_.traits().host_memory) return;
  ASAN_POISON_MEMORY_REGION(memory.memory.data(), guard);
  ASAN_POISON_MEMORY_REGION(memory.data() + memory.size, guard);
}

void Lab::allow_guards(const Guarded& memory) {
  if (device_.traits().host_memory) ASAN_UNPOISON_MEMORY_REGION(memory.memory.data(), memory.memory.size());
}

bool Lab::intact(const Guarded& memory) {
  allow_guards(memory);
  const auto all = read(memory.memory.data(), memory.memory.size());
  forbid_guards(memory);
  const auto whole = [&](auto from) { return std::all_of(from, from + guard, [](auto b) { return b == guard_byte; }); };
  return whole(all.begin()) && whole(all.end() - guard);
}

Held Lab::put(const TensorDesc& desc, const Values& values) {
  Held plain = blank(desc.as(Format::plain()));
  write(plain.memory.data(), plain_bytes(values, desc.dtype));
  if (desc.format.is_plain()) return plain;
  Held made = blank(desc);
  auto reorder = need(device_.prepare(ReorderSpec{plain.desc, desc}));
  const void* in = plain.memory.data();
  void* out = made.memory.data();
  need(run(*reorder, {&in, 1}, {&out, 1}));
  return made;
}

Values Lab::get(const Held& tensor) {
  if (tensor.desc.format.is_plain()) return from_plain_bytes(raw(tensor.memory), tensor.desc.dtype);
  Held plain = blank(tensor.desc.as(Format::plain()));
  auto reorder = need(device_.prepare(ReorderSpec{tensor.desc, plain.desc}));
  const void* in = tensor.memory.data();
  void* out = plain.memory.data();
  need(run(*reorder, {&in, 1}, {&out, 1}));
  return from_plain_bytes(raw(plain.memory), plain.desc.dtype);
}

std::vector<std::byte> Lab::raw(const Guarded& memory) { return read(memory.data(), memory.size); }

Status Lab::run(Op& op, std::span<const void* const> in, std::span<void* const> out, const Dynamic& dynamic) {
  const Guarded scratch = room(op.scratch_bytes);
  op.execute(*stream_, in, out, op.scratch_bytes ? scratch.data() : nullptr, dynamic);
  DLHOST_TRY(stream_->wait());
  return intact(scratch) ? Status() : Status::internal(op.kernel, " writes beyond its scratch");
}

void Lab::write(void* to, const std::vector<std::byte>& bytes) {
  need(device_.copy(*stream_, to, bytes.data(), bytes.size(), Direction::from_host));
  need(stream_->wait());
}

std::vector<std::byte> Lab::read(const void* from, std::size_t size) {
  std::vector<std::byte> bytes(size);
  need(device_.copy(*stream_, bytes.data(), from, size, Direction::to_host));
  need(stream_->wait());
  return bytes;
}

} // namespace dlhost::conform
