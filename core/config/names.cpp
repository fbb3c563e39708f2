#include "config/names.h"

#include <algorithm>

#include "config/document.h"
#include "config/renamed.h"

namespace dlhost::config {

namespace {

struct NameKeys {
  std::string name;
  std::vector<std::int64_t> order;
};

const Schema& name_schema() {
  static const Schema schema =
      SchemaOf<NameKeys>("A param's name in the file.")
          .required("name", &NameKeys::name, "its name there, or a pattern with as many * as the param's")
          .option("order", &NameKeys::order, "axis i here is axis order[i] there", between(0, 64));
  return schema;
}

std::string wrong_in(const Rename& rename) {
  const auto stars = [](const std::string& pattern) { return std::ranges::count(pattern, '*'); };
  if (rename.theirs.empty()) return "the other name is empty";
  if (stars(rename.ours) != stars(rename.theirs))
    return concat("'", rename.ours, "' has ", stars(rename.ours), " *, but '", rename.theirs, "' has ",
                  stars(rename.theirs), "; each * takes the part that the one before it stood for");
  auto sorted = rename.order;
  std::ranges::sort(sorted);
  for (std::size_t axis = 0; axis < sorted.size(); ++axis)
    if (sorted[axis] != static_cast<std::int64_t>(axis))
      return concat("order must name each axis once, such as [1, 0], but is ", detail::written(rename.order));
  return {};
}

} // namespace

Names names_of(const StartKeys& keys, const std::string& path, Problems& problems) {
  Names names{.keep = keys.keep, .ignore = keys.ignore};
  const std::string prefix = concat(path, path.empty() ? "" : ".", "rename.");
  for (const auto& [ours, value] : keys.rename.entries) {
    NameKeys theirs;
    if (const auto* name = std::get_if<std::string>(&value.data)) {
      theirs.name = *name;
    } else if (const auto* table = std::get_if<Table>(&value.data)) {
      problems.of_schema(name_schema(), name_schema().parse(*table, &theirs), prefix + ours);
      if (theirs.name.empty()) continue; // reported already
    } else {
      problems.add(value.where, prefix, ours, ": must be a name in quotes, or { name = \"...\", order = [1, 0] }");
      continue;
    }
    names.rename.push_back({ours, theirs.name, theirs.order, value.where});
    if (const auto wrong = wrong_in(names.rename.back()); !wrong.empty())
      problems.add(value.where, prefix, ours, ": ", wrong);
  }
  return names;
}

Result<Names> load_names(Disk& disk, const std::string& path) {
  DLHOST_ASSIGN(const auto text, disk.read_text(path));
  Problems problems;
  Table document = parse_document(text, path, problems);
  rename_old_names(document);
  StartKeys keys;
  problems.of_schema(names_schema(), names_schema().parse(document, &keys), "");
  Names names = names_of(keys, "", problems);
  DLHOST_TRY(problems.status());
  return names;
}

Status add_rename(Names& names, const std::string& text) {
  const auto at = text.find('=');
  if (at == std::string::npos || at == 0)
    return Status::invalid("--rename ", text, ": write it as 'ours=theirs', such as 'fc*.weight=hidden*.weight'");
  const auto trimmed = [](std::string_view word) {
    const auto first = word.find_first_not_of(' '), last = word.find_last_not_of(' ');
    return first == std::string_view::npos ? std::string() : std::string(word.substr(first, last - first + 1));
  };
  const std::string_view whole = text;
  names.rename.push_back({trimmed(whole.substr(0, at)), trimmed(whole.substr(at + 1)), {}, {}});
  const auto wrong = wrong_in(names.rename.back());
  return wrong.empty() ? Status() : Status::invalid("--rename ", text, ": ", wrong);
}

} // namespace dlhost::config
