#include <dlhost/rendezvous.h>

namespace dlhost {

Session::~Session() = default;

} // namespace dlhost
