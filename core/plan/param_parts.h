// The parts of each param that the workers of a group hold, if the net is divided among them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "net/graph.h"
#include "param/store/param_part.h"
#include "plan/partition.h"

namespace dlhost::plan {

// By the name of the param; only those that not all workers hold whole, each for its rows of the batch. A param of
// several layers is held by all workers that compute one of them. `layers`: by node. Requires: why_no_parts() finds
// nothing.
std::map<std::string, param::ParamParts> param_parts(const net::Graph&, const std::vector<LayerPart>& layers);

// Why a layer's params cannot be held so, with a remedy. Null: they can.
const char* why_no_parts(const net::Graph&, const std::vector<LayerPart>& layers, std::size_t node);

} // namespace dlhost::plan
