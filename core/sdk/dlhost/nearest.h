// Unknown names: what was probably meant, and what there is. Every message about a name that nobody knows is made here,
// so that they all read alike. Pure functions, for any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <dlhost/visibility.h>

namespace dlhost {

// How many letters must be inserted, left out, replaced or swapped with their neighbour to turn one into the other.
DLHOST_API std::size_t edit_distance(std::string_view, std::string_view);

// The known name that looks most like `name`; empty when none does.
DLHOST_API std::string nearest(std::string_view name, std::span<const std::string> known);

// "did you mean 'dense'? (known: add, dense, relu)": the second half of a message about an unknown name. Sorts the
// known names; says so when there are none.
DLHOST_API std::string suggestion(std::string_view name, std::span<const std::string> known);

} // namespace dlhost
