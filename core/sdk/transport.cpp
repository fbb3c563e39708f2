#include <dlhost/transport.h>

namespace dlhost {

Region::~Region() = default;
Endpoint::~Endpoint() = default;

} // namespace dlhost
