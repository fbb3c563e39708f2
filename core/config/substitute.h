// What a block's templates are filled in with: "$width" becomes the parameter's value, "$width * 4" is worked out, and
// in any other text the value is put in its place. Pure functions.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <dlhost/schema.h>

namespace dlhost::config {

using Scope = std::map<std::string, Value, std::less<>>;

// What the filled-in values of a job may come to: a parameter that stands in its own text twice, block in block,
// doubles it each time.
class Room {
 public:
  // A value or a text that is added. False: there is no room for it any more.
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
  // Of a name that is unknown: what there is, and what was probably meant.
  std::function<std::string(std::string_view name)> suggest;
};

// A copy of the value with everything filled in; what cannot be filled in is complained of and stays as it is. Once
// the room is full, the rest is left out: the caller looks, and says so.
Value substitute(const Value&, const Filling&);

} // namespace dlhost::config
