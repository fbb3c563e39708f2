#include <dlhost/host_op.h>

#include <dlhost/device.h>

namespace dlhost {

void HostOp::execute(Stream& stream, std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch,
                     const Dynamic& dynamic) {
  stream.submit(*this, {inputs, outputs, static_cast<std::byte*>(scratch), dynamic});
}

} // namespace dlhost
