#include "run/samples_print.h"

#include <algorithm>
#include <vector>

#include "env/digest.h"
#include "plugin/contained.h"

namespace dlhost::run {

Result<SamplesPrint> print_of(Session& session, const Session::OpenSource& open, Phase phase) {
  constexpr std::int64_t looked_at = 9;
  SamplesPrint print{.count = open.source->count(phase), .digest = ""};
  std::vector<std::vector<std::byte>> outputs; // each begins where any type may
  std::vector<std::byte*> places;
  for (const Port& port : open.outputs) places.push_back(outputs.emplace_back(port.desc.plain_bytes()).data());
  std::vector<std::byte> text; // of all samples, one behind the other
  for (std::int64_t i = 0; i < std::min(looked_at, print.count); ++i) {
    const std::int64_t index = print.count <= looked_at ? i : (print.count - 1) * i / (looked_at - 1);
    DLHOST_TRY(plugin::contained(session.activity(), open.actor, "read", plugin::no_step, [&] {
                 return open.source->read(phase, index, places);
               }).at("source '", open.name, "'"));
    for (const auto& output : outputs) text.insert(text.end(), output.begin(), output.end());
  }
  print.digest = env::digest(text, 16);
  return print;
}

} // namespace dlhost::run
