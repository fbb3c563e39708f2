#include <dlhost/device.h>

namespace dlhost {

Event::~Event() = default;
Stream::~Stream() = default;

} // namespace dlhost
