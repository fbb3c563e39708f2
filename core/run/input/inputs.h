// The outputs of a net's sources for one sample. A checkpoint stores them, so that a net can predict without its
// training data.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "run/session/session.h"

namespace dlhost::run {

struct Input {
  std::vector<Port> outputs; // as the source declares them, without the batch axis
  std::vector<std::string> classes;
};
using Inputs = std::map<std::string, Input>; // by the source's name

nlohmann::json inputs_json(const Session&);
// Errors: the JSON was not written by inputs_json(). `what` names it in the message.
Result<Inputs> inputs_of(const nlohmann::json&, const std::string& what);

// Of a session that reads: the classes of its sources mean what they meant in training, also of those that were opened
// without their training samples. `known`: the inputs that the params were trained on; empty: unknown.
// Errors: a source that may number its classes by its training samples has other classes without them, or unknown ones.
Status check_classes(const Session&, const Inputs& known);

} // namespace dlhost::run
