#include <dlhost/updater.h>

namespace dlhost {

void Updater::scalars(const When&, std::span<const double>, std::span<float>) const {}

} // namespace dlhost
