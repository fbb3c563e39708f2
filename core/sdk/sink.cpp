#include <dlhost/sink.h>

namespace dlhost {

Sink::~Sink() = default;

} // namespace dlhost
