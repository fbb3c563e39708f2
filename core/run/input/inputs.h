// What the sources of a net give of one sample. A checkpoint keeps it, so that a net predicts where the data that it
// was trained on are not.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "run/session/session.h"

namespace dlhost::run {

struct Input {
  std::vector<Port> outputs; // as the source declares them: without the batch axis
  std::vector<std::string> classes;
};
using Inputs = std::map<std::string, Input>; // by the source's name

nlohmann::json inputs_json(const Session&);
// Not ok: it is nothing that inputs_json() writes; `what` names it in the message.
Result<Inputs> inputs_of(const nlohmann::json&, const std::string& what);

} // namespace dlhost::run
