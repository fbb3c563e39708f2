#include <dlhost/device.h>

#include <new>

#include <dlhost/partition.h>

namespace dlhost {

namespace {
constexpr std::align_val_t host_alignment{64};
} // namespace

Event::~Event() = default;
Result<bool> Event::passed() { return true; }
Stream::~Stream() = default;
void Stream::begin_step() {}
void Stream::end_step() {}
void* Stream::native() { return nullptr; }
Result<void*> Device::allocate_host(std::size_t bytes) {
  void* made = ::operator new(bytes, host_alignment, std::nothrow);
  if (!made) return Status::no_space("no memory for ", bytes, " bytes");
  return made;
}
std::optional<Device::Room> Device::room() const { return {}; }
Status Device::pin(void*, std::size_t) { return {}; }
void Device::unpin(void*) noexcept {}
void Device::release_host(void* memory) noexcept { ::operator delete(memory, host_alignment); }
std::int64_t Device::rows_together(const TensorDesc& desc) const {
  return desc.format.is_plain() && desc.shape.rank() > 0 ? 1 : 0;
}
Result<std::string> Device::convene() { return Status::unsupported("it cannot sum among several devices"); }
Result<std::unique_ptr<Peers>> Device::join(const std::string&, int, int) { return convene().status(); }

} // namespace dlhost
