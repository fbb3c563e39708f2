#include <dlhost/rendezvous.h>

namespace dlhost {

Session::~Session() = default;

Place::~Place() = default;

Result<std::unique_ptr<Place>> Rendezvous::found(Host&, const Joining&) {
  return Status::unsupported("this rendezvous has no places of its own: its members find what is there");
}

} // namespace dlhost
