#include "run/input/samples_found.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "env/printable.h"
#include "plugin/contained.h"
#include "run/input/training_samples.h"

namespace dlhost::run {
namespace {

constexpr std::int64_t most_classes = 1 << 20; // limit for a source's label
constexpr std::size_t longest_name = 60;       // bytes
constexpr std::size_t most_named = 10;         // classes named in a message
constexpr std::int64_t many = 10;              // a remark appears if at least one in `many` samples is left out

// Empty: the source does not know the class of some sample.
std::vector<std::int64_t> count_classes(const Source& source, Phase phase, std::int64_t samples) {
  std::vector<std::int64_t> of_class(source.class_names().size());
  for (std::int64_t index = 0; index < samples; ++index) {
    const auto label = source.class_of(phase, index);
    if (!label || *label < 0 || *label >= most_classes) return {};
    const auto at = static_cast<std::size_t>(*label);
    if (at >= of_class.size()) of_class.resize(at + 1);
    ++of_class[at];
  }
  return of_class;
}

std::int64_t left_over(const Session& session, std::int64_t samples) {
  const auto spec = training_samples(session.job(), plan::Place::at(session.job(), 0), 0);
  if (spec.last != Last::drop) return 0;
  return samples % (spec.share == Share::disjoint ? spec.batch * spec.groups : spec.batch);
}

std::string named(std::size_t number, const std::vector<std::string>& names) {
  return number < names.size() ? fmt::format("'{}' ({})", env::printable(names[number], longest_name), number)
                               : std::to_string(number);
}

std::string to_string(const SamplesFound& found) {
  const std::size_t classes = found.of_class.size();
  std::vector<std::string> more;
  if (classes > 0) {
    const auto [least, most] = std::ranges::minmax(found.of_class);
    more.push_back(classes == 1    ? "1 class"
                   : least == most ? fmt::format("{} classes of {}", classes, most)
                                   : fmt::format("{} classes of {} to {}", classes, least, most));
  }
  if (found.left_over > 0) more.push_back(fmt::format("{} left over in each epoch", found.left_over));
  return fmt::format("{} {}{}", config::key_of(found.phase), found.count,
                     more.empty() ? "" : fmt::format(" ({})", fmt::join(more, "; ")));
}

} // namespace

Result<std::vector<SamplesFound>> samples_found(const Session& session) {
  std::vector<SamplesFound> all;
  if (session.sources().empty()) return all;
  for (const Phase phase : {Phase::train, Phase::validate, Phase::test}) {
    SamplesFound found{.phase = phase, .count = session.samples(phase)};
    if (found.count == 0) continue;
    for (const auto& open : session.sources())
      if (found.of_class.empty()) // the first source that knows the classes
        DLHOST_TRY(plugin::tried(open.actor, "class_of", [&] {
                     return found.of_class = count_classes(*open.source, phase, found.count);
                   }).at("source '", open.name, "'"));
    if (phase == Phase::train) found.left_over = left_over(session, found.count);
    all.push_back(std::move(found));
  }
  return all;
}

std::vector<std::string> class_names(const Session& session) {
  for (const auto& open : session.sources())
    if (auto names = open.source->class_names(); !names.empty()) return names;
  return {};
}

std::string to_string(const std::vector<SamplesFound>& all, std::size_t indent) {
  std::string text;
  for (const auto& found : all) text += (text.empty() ? "" : "\n" + std::string(indent, ' ')) + to_string(found);
  return text;
}

std::vector<std::string> remarks(const std::vector<SamplesFound>& all, const std::vector<std::string>& names) {
  std::vector<std::string> said;
  for (const auto& found : all) {
    std::vector<std::string> missing;
    for (std::size_t number = 0; number < found.of_class.size(); ++number)
      if (found.of_class[number] == 0) missing.push_back(named(number, names));
    const std::size_t more = missing.size() - std::min(missing.size(), most_named);
    missing.resize(missing.size() - more);
    if (!missing.empty())
      said.push_back(fmt::format("no {} sample is of class {}{}", config::key_of(found.phase), fmt::join(missing, ", "),
                                 more > 0 ? fmt::format(" and {} more", more) : ""));
    if (found.left_over > 0 && found.left_over >= found.count / many)
      said.push_back(
          fmt::format("each epoch leaves out {} of {} samples, which do not fill a batch: train.last_batch = "
                      "\"partial\" or \"wrap\" takes them",
                      found.left_over, found.count));
  }
  return said;
}

} // namespace dlhost::run
