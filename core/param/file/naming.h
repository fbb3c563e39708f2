// What a file from elsewhere calls the params of a net: exact names first, then patterns in their order, else the same
// name. Pure; used while params are exchanged.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/job.h"

namespace dlhost::param {

// The parts that the stars of a pattern stand for, each as short as it can be; none: it does not match.
std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view name);

class Naming {
 public:
  explicit Naming(const config::Names& names);

  struct Theirs {
    std::string name;
    std::vector<std::int64_t> order; // empty: axes as they are
  };
  Theirs theirs(std::string_view ours);
  bool kept(std::string_view ours);
  bool ignored(std::string_view theirs) const;

  // Names and patterns of ours that nothing asked about had: most likely mistyped.
  std::vector<std::string> unused() const;

 private:
  const config::Names& names_;
  std::vector<bool> renamed_, kept_;
};

} // namespace dlhost::param
