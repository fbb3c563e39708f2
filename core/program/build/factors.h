// Chooses the params whose gradients are sent as factors: the servers multiply the factors, or add rows to those of a
// table. Requires: the param belongs to one layer, and one pass a step makes its gradient.
#pragma once

#include "program/build/build.h"

namespace dlhost::program {

// The factors of this program's rows.
param::Factors factors_of(const BuildRequest&, const Unit&, const Factors& declared);

// Chooses for a unit's params, which are declared. A layer does not compute a gradient that is sent as factors; the
// master takes the form of the product. Errors: the layer declares factors whose shapes do not fit.
Status choose_factors(const BuildRequest&, Unit&);

} // namespace dlhost::program
