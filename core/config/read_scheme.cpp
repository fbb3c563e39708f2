#include "config/read_scheme.h"

#include "config/job_schema.h"

namespace dlhost::config {

std::vector<Problem> read_scheme(const Value& value, Scheme& scheme) {
  scheme = {.where = value.where};
  if (const auto* name = std::get_if<std::string>(&value.data)) {
    scheme.split = *name;
    if (!name->empty()) return {};
  }
  const auto* table = std::get_if<Table>(&value.data);
  if (!table)
    return {{value.where, "",
             concat("must be the name of a split, such as \"features\", or \"none\", or a table such as "
                    "{ axes = [0, 1], grid = [2, 2] }, but is ",
                    detail::written(value))}};
  auto problems = scheme_schema().parse(*table, &scheme);
  if (problems.empty() && scheme.axes.size() != scheme.grid.size())
    problems.push_back({value.where, "grid",
                        concat("has ", scheme.grid.size(), " numbers, and axes has ", scheme.axes.size(),
                               ": each axis needs the number of its parts")});
  return problems;
}

} // namespace dlhost::config
