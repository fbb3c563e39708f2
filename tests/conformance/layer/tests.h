// The parts of the layer suite.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "layer/case.h"

namespace dlhost::conform {

void register_layer_suite(const Context&, const std::string& name, const std::vector<LayerCase>&);
void add_layer_check(const LayerCase&, const std::string& name, const Context&,
                     void (*check)(const Context&, const LayerCase&));
void report_no_case(const Context&, const std::string& layer);

// A batch cut in two gives the same results as the whole batch.
void rows_are_apart(const Context&, const LayerCase&);
// The pieces of each declared split also give the whole.
void splits_make_the_whole(const Context&, const LayerCase&);

// The declared factors multiply to the params' gradients.
void factors_make_the_gradient(const Context&, const LayerCase&);

} // namespace dlhost::conform
