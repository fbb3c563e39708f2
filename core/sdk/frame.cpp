#include <dlhost/frame.h>

namespace dlhost {

Peers::~Peers() = default;

} // namespace dlhost
