#include "run/input/samples_print.h"

#include <algorithm>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "env/digest.h"
#include "plugin/contained.h"

namespace dlhost::run {

namespace {

constexpr std::int64_t looked_at = 9;

// Reads samples of one source into memory of its own.
class SampleReader {
 public:
  SampleReader(Session& session, const Session::OpenSource& open, Phase phase)
      : session_(session), open_(open), phase_(phase) {
    for (const Port& port : open.outputs) places_.push_back(outputs_.emplace_back(port.desc.plain_bytes()).data());
  }
  // Valid until the next one.
  Result<std::span<const std::vector<std::byte>>> read(std::int64_t index) {
    DLHOST_TRY(plugin::contained(session_.activity(), open_.actor, "read", plugin::no_step, [&] {
                 return open_.source->read(phase_, index, places_);
               }).at("source '", open_.name, "'"));
    return std::span<const std::vector<std::byte>>(outputs_);
  }

 private:
  Session& session_;
  const Session::OpenSource& open_;
  const Phase phase_;
  std::vector<std::vector<std::byte>> outputs_; // each begins where any type may
  std::vector<std::byte*> places_;
};

} // namespace

bool SamplesPrint::is_like(const SamplesPrint& other) const {
  const bool both = !of_all.empty() && !other.of_all.empty();
  return count == other.count && digest == other.digest && (!both || of_all == other.of_all);
}

Result<SamplesPrint> print_of(Session& session, const Session::OpenSource& open, Phase phase, Reading reading) {
  SamplesPrint print{.count = open.source->count(phase), .digest = {}, .of_all = {}};
  SampleReader reader(session, open, phase);
  std::vector<std::byte> text; // of the few, one behind the other
  for (std::int64_t i = 0; i < std::min(looked_at, print.count); ++i) {
    const std::int64_t index = print.count <= looked_at ? i : (print.count - 1) * i / (looked_at - 1);
    DLHOST_ASSIGN(const auto outputs, reader.read(index));
    for (const auto& output : outputs) text.insert(text.end(), output.begin(), output.end());
  }
  print.digest = env::digest(text, 16);
  if (reading == Reading::few) return print;
  env::RunningDigest all;
  for (std::int64_t index = 0; index < print.count; ++index) {
    DLHOST_ASSIGN(const auto outputs, reader.read(index));
    for (const auto& output : outputs) all.add(output);
  }
  print.of_all = fmt::format("{:016x}", all.so_far());
  return print;
}

} // namespace dlhost::run
