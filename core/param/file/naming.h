// Maps the names of a net's params to the names in a foreign file: exact names first, then patterns in their order,
// else the same name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/job.h"

namespace dlhost::param {

// The text that each star of a pattern matches, as short as possible. Empty: the name does not match.
std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view name);

class Naming {
 public:
  explicit Naming(const config::Names& names);

  struct Theirs {
    std::string name;
    std::vector<std::int64_t> order; // empty: axes keep their order
  };
  Theirs theirs(std::string_view ours);
  bool kept(std::string_view ours);
  bool ignored(std::string_view theirs) const;

  // Our names and patterns that matched nothing. Most likely they are mistyped.
  std::vector<std::string> unused() const;

 private:
  const config::Names& names_;
  std::vector<bool> renamed_, kept_;
};

} // namespace dlhost::param
