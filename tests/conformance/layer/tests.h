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
void report_no_case(const std::string& suite, const std::string& name);

// The batch cut in two gives what the whole gives.
void rows_are_apart(const Context&, const LayerCase&);
// So do the pieces of each split that the layer declares.
void splits_make_the_whole(const Context&, const LayerCase&);

// The products that it says its params' gradients are.
void factors_make_the_gradient(const Context&, const LayerCase&);

} // namespace dlhost::conform
