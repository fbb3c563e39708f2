#include <dlhost/source.h>

namespace dlhost {

Status Source::prepare(Prepare&) { return {}; }
void Source::compute_feature(const Pass&, Frame&) const {}

std::vector<std::string> Source::classes() const { return {}; }
std::string Source::name_of(Phase, std::int64_t) const { return {}; }

} // namespace dlhost
