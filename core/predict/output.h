// Selects the predicted output of a net: one with a row for each sample.
#pragma once

#include <string>

#include "config/job.h"
#include "net/graph.h"

namespace dlhost::predict {

// "fc1:data"
std::string name_of(const net::Graph&, const net::Edge&);
// Finds an output by its full name, or the first of a layer by the layer's name. Empty: the probabilities of a softmax
// loss, else the first input of the loss.
Result<net::Edge> find_output(const net::Graph&, const std::string& name);

// Keeps only the layers on which the outputs of `layer` depend, so that a prediction makes no measures and writes no
// files.
void keep_what_makes(const std::string& layer, config::Job&);

} // namespace dlhost::predict
