#include <dlhost/device.h>

namespace dlhost {

Event::~Event() = default;
Stream::~Stream() = default;
void* Stream::native() { return nullptr; }

} // namespace dlhost
