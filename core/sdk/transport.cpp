#include <dlhost/transport.h>

namespace dlhost {

Region::~Region() = default;
Endpoint::~Endpoint() = default;

Result<std::vector<Transport::Way>> Transport::ways(Host&) { return std::vector<Way>{}; }

} // namespace dlhost
