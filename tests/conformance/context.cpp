#include "context.h"

#include <stdexcept>

namespace dlhost::conform {

std::unique_ptr<Device> Context::oracle() const {
  Table wide;
  wide.entries.emplace_back("wide", Value{true, {}});
  return make<Device>("ref", wide);
}

void Context::check(Kind kind, std::string_view name, Table& table) const {
  const auto schema = registry.schema(kind, name);
  if (!schema.ok()) refuse(kind, name, schema.status());
  std::string wrong;
  for (const auto& problem : (*schema)->parse(table, nullptr, &registry))
    wrong += concat(wrong.empty() ? "" : "; ", problem.key, " ", problem.message);
  if (!wrong.empty()) refuse(kind, name, Status::invalid(wrong));
}

void Context::refuse(Kind kind, std::string_view name, const Status& why) {
  throw std::runtime_error(concat(name_of(kind), " '", name, "': ", why.message()));
}

} // namespace dlhost::conform
