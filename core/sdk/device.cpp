#include <dlhost/device.h>

namespace dlhost {

Event::~Event() = default;
Stream::~Stream() = default;
void* Stream::native() { return nullptr; }
std::int64_t Device::rows_together(const TensorDesc& desc) const {
  return desc.format.is_plain() && desc.shape.rank() > 0 ? 1 : 0;
}

} // namespace dlhost
