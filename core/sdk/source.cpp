#include <dlhost/source.h>

namespace dlhost {

Status Source::prepare(Prepare&) { return {}; }
void Source::compute_feature(const Pass&, Frame&) const {}

} // namespace dlhost
