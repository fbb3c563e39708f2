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

} // namespace dlhost::run
