// What a block's templates are filled in with: "$width" becomes the parameter's value, "$width * 4" is worked out, and
// in any other text the value is put in its place. Pure functions.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <dlhost/schema.h>

namespace dlhost::config {

using Scope = std::map<std::string, Value, std::less<>>;
using Complain = std::function<void(const Location&, const std::string& message)>;

// A copy of the value with everything filled in; what cannot be filled in is complained of and stays as it is.
Value substitute(const Value&, const Scope&, const Complain&);

} // namespace dlhost::config
