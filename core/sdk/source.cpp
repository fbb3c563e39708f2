#include <dlhost/source.h>

namespace dlhost {

Status Source::prepare(Prepare&) { return {}; }
void Source::compute_feature(const Pass&, Frame&) const {}

std::vector<std::string> Source::class_names() const { return {}; }
std::optional<std::int64_t> Source::class_of(Phase, std::int64_t) const { return {}; }
std::string Source::sample_name(Phase, std::int64_t) const { return {}; }

} // namespace dlhost
