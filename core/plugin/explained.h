// What is said of a name that no plugin has, or that a broken one has.
#pragma once

#include <dlhost/explained.h>

#include "plugin/registry.h"

namespace dlhost::plugin {

// The folders of a search, each with whose it is and why it is not used; those that are not there only where asked for.
std::string looked_in(const Catalogue&, bool everywhere);

// Not ok: no plugin file was found at all; where was searched, and what to do.
Status any_found(const Catalogue&);

// The registry's schemas, with the registry's reasons.
class Explained final : public ExplainedSource {
 public:
  explicit Explained(Registry& registry) : registry_(registry) {}
  const Schema* find(Kind kind, std::string_view name) override { return registry_.find(kind, name); }
  std::vector<std::string> names(Kind kind) override { return registry_.names(kind); }
  std::string why_not(Kind kind, std::string_view name) override {
    return registry_.schema(kind, name).status().message();
  }

 private:
  Registry& registry_;
};

} // namespace dlhost::plugin
