// Fills in a block's templates: "$width" becomes the parameter's value, "$width * 4" is computed, and in any other text
// the value is inserted. Pure functions.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <dlhost/schema.h>

namespace dlhost::config {

using Scope = std::map<std::string, Value, std::less<>>;

// The memory budget of a job's filled-in values: a parameter that stands twice in its own text doubles with each nested
// block.
class Room {
 public:
  // Takes space for a value or text. False: the budget is spent.
  bool take(const Value&);
  bool take(std::size_t bytes);
  bool is_full() const { return left_ == 0; }

  static constexpr std::size_t most_bytes = std::size_t{64} << 20;

 private:
  std::size_t left_ = most_bytes;
};

struct Filling {
  const Scope& scope;
  Room& room;
  std::function<void(const Location&, const std::string& message)> complain;
  // The hint for an unknown name: the known ones and the nearest.
  std::function<std::string(std::string_view name)> suggest;
};

// A copy of the value with everything filled in. A text that cannot be filled in is reported and stays. When the room
// is full, the rest is left out; the caller checks is_full() and reports it.
Value substitute(const Value&, const Filling&);

} // namespace dlhost::config
