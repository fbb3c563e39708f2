// Which output of a net is predicted: one that has a row for each sample.
#pragma once

#include <string>

#include "config/job.h"
#include "net/graph.h"

namespace dlhost::predict {

// "fc1:data"
std::string name_of(const net::Graph&, const net::Edge&);
// By its whole name, or by its layer's, which stands for the first of it. Empty: the probabilities of a softmax loss,
// else what the loss reads first.
Result<net::Edge> find_output(const net::Graph&, const std::string& name);

// Leaves the layers alone on which an output of `layer` depends: what a prediction takes no part in, a file that is
// written or a measure, is not made.
void keep_what_makes(const std::string& layer, config::Job&);

} // namespace dlhost::predict
