#include <dlhost/rendezvous.h>

namespace dlhost {

Session::~Session() = default;

Place::~Place() = default;

Result<std::unique_ptr<Place>> Rendezvous::found(Host&, const Joining&) {
  return Status::unsupported("this rendezvous founds no place: its members use an existing one");
}

} // namespace dlhost
