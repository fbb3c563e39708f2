#include "ways.h"

#include "shm/endpoint.h"
#ifdef DLHOST_FABRIC
#include "fabric/endpoint.h"
#endif

namespace dlhost::test {

std::vector<std::string> ways() {
#ifdef DLHOST_FABRIC
  return {"shm", "fabric-tcp", "fabric-shm"};
#else
  return {"shm"};
#endif
}

Result<std::unique_ptr<Endpoint>> open_endpoint(Host& host, const std::string& way, std::string_view name) {
#ifdef DLHOST_FABRIC
  if (way.starts_with("fabric-"))
    return plugins::fabric::FabricEndpoint::open(host, name, {.provider = way.substr(way.find('-') + 1)});
#endif
  return plugins::shm::ShmEndpoint::open(host, name, {.cells = 8, .block = 1024});
}

} // namespace dlhost::test
