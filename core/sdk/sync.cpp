#include <dlhost/sync.h>

namespace dlhost {

Exchange::~Exchange() = default;

} // namespace dlhost
