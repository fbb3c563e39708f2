// Suggestions for unknown names: the nearest known name, and the known ones. All messages about unknown names are made
// here, so that they read alike. Pure functions. Thread: any.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <dlhost/visibility.h>

namespace dlhost {

// The number of letters to insert, delete, replace or swap with their neighbour to turn one into the other.
DLHOST_API std::size_t edit_distance(std::string_view, std::string_view);

// The known name most similar to `name`; empty: none is similar.
DLHOST_API std::string nearest(std::string_view name, std::span<const std::string> known);

// "did you mean 'dense'? (known: add, dense, relu)": the second half of a message about an unknown name. Sorts the
// known names; says so if there are none.
DLHOST_API std::string suggestion(std::string_view name, std::span<const std::string> known);

} // namespace dlhost
