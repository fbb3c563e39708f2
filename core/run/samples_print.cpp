#include "run/samples_print.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "env/digest.h"
#include "plugin/contained.h"

namespace dlhost::run {

Result<SamplesPrint> print_of(Session& session, const Session::OpenSource& open, Phase phase) {
  constexpr std::int64_t looked_at = 9;
  SamplesPrint print{.count = open.source->count(phase), .digest = ""};
  std::vector<std::byte> text; // of all of them, one behind the other
  std::size_t bytes = 0;
  for (const Port& port : open.outputs) bytes += port.desc.plain_bytes();
  for (std::int64_t i = 0; i < std::min(looked_at, print.count); ++i) {
    const std::int64_t index = print.count <= looked_at ? i : (print.count - 1) * i / (looked_at - 1);
    const std::size_t first = text.size();
    text.resize(first + bytes);
    std::vector<std::byte*> places;
    std::size_t at = first;
    for (const Port& port : open.outputs) {
      places.push_back(text.data() + at);
      at += port.desc.plain_bytes();
    }
    DLHOST_TRY(plugin::contained(session.activity(), open.actor, "read", plugin::no_step, [&] {
                 return open.source->read(phase, index, places);
               }).at("source '", open.name, "'"));
  }
  print.digest = env::digest(text, 16);
  return print;
}

} // namespace dlhost::run
