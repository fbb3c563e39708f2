#include <dlhost/transport.h>

namespace dlhost {

Region::~Region() = default;
Endpoint::~Endpoint() = default;

bool Endpoint::puts_in_order() const { return false; }

Result<std::vector<Transport::Way>> Transport::ways(Host&) { return std::vector<Way>{}; }

} // namespace dlhost
