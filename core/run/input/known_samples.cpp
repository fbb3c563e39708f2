#include "run/input/known_samples.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dlhost::run {

Status KnownSamples::look() { return prints_.empty() ? read(Reading::few) : Status(); }

Status KnownSamples::read_all() {
  prints_.clear();
  return read(Reading::all);
}

Status KnownSamples::read(Reading reading) {
  for (const auto* source : feeds_.sources()) {
    DLHOST_ASSIGN(prints_.emplace_back(), print_of(session_, *source, Phase::train, reading));
  }
  return {};
}

void KnownSamples::write(nlohmann::json& data) const {
  for (std::size_t f = 0; f < prints_.size(); ++f)
    data[f]["samples"] = {{"count", prints_[f].count}, {"digest", prints_[f].digest}, {"of_all", prints_[f].of_all}};
}

Status KnownSamples::compare(const nlohmann::json& data) const {
  for (std::size_t f = 0; f < prints_.size() && f < data.size(); ++f) {
    if (!data[f].contains("samples")) continue;
    const auto& kept = data[f]["samples"];
    const SamplesPrint then{kept.at("count"), kept.at("digest"), kept.value("of_all", std::string())};
    const SamplesPrint& now = prints_[f];
    const std::string& source = feeds_.sources()[f]->name;
    if (!now.of_all.empty() && then.of_all.empty())
      session_.host().log().write(LogLevel::warning,
                                  concat("source '", source,
                                         "': only a few of the samples that the run was trained on are known, because "
                                         "it was not started with --verify; from now on all are known"));
    if (now.is_like(then)) continue;
    const std::string differs = now.count == then.count
                                    ? fmt::format("its {} training samples differ, or their order", now.count)
                                    : fmt::format("it has {} training samples, but had {}", now.count, then.count);
    return Status::invalid("source '", source, "' does not read the data that the run was trained on: ", differs,
                           ". Restore that data, or continue with the present data: --accept-data");
  }
  return {};
}

} // namespace dlhost::run
