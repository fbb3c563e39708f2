#include "run/input/inputs.h"

#include <nlohmann/json.hpp>

#include "net/extent.h"

namespace dlhost::run {
namespace {

// Empty: the JSON is damaged.
std::optional<Port> port_of(const nlohmann::json& json) {
  if (!json.is_object() || !json.value("name", nlohmann::json()).is_string() ||
      !json.value("dtype", nlohmann::json()).is_string() || !json.value("shape", nlohmann::json()).is_array())
    return {};
  const auto dtype = dtype_named(json["dtype"].get_ref<const std::string&>());
  const auto& dims = json["shape"];
  if (!dtype || dims.size() >= max_rank) return {};
  Shape shape;
  for (const auto& dim : dims) {
    if (!dim.is_number_integer() || dim.get<std::int64_t>() < 1) return {};
    shape.push_back(dim.get<std::int64_t>());
  }
  if (!net::check_extent(shape).ok()) return {};
  return Port{json["name"].get<std::string>(), TensorDesc{*dtype, shape, {}}};
}

std::optional<Input> input_of(const nlohmann::json& json) {
  if (!json.is_object() || !json.contains("outputs") || !json["outputs"].is_array() || json["outputs"].empty())
    return {};
  Input input;
  for (const auto& output : json["outputs"]) {
    const auto port = port_of(output);
    if (!port) return {};
    input.outputs.push_back(*port);
  }
  const auto classes = json.value("classes", nlohmann::json::array());
  if (!classes.is_array()) return {};
  for (const auto& name : classes) {
    if (!name.is_string()) return {};
    input.classes.push_back(name.get<std::string>());
  }
  return input;
}

} // namespace

nlohmann::json inputs_json(const Session& session) {
  nlohmann::json inputs = nlohmann::json::object();
  for (const auto& open : session.sources()) {
    nlohmann::json outputs = nlohmann::json::array();
    for (const auto& port : open.outputs)
      outputs.push_back({{"name", port.name},
                         {"dtype", name_of(port.desc.dtype)},
                         {"shape", std::vector<std::int64_t>(port.desc.shape.begin(), port.desc.shape.end())}});
    inputs[open.name] = {{"outputs", std::move(outputs)}, {"classes", open.source->class_names()}};
  }
  return inputs;
}

Result<Inputs> inputs_of(const nlohmann::json& json, const std::string& what) {
  if (!json.is_object() || json.empty())
    return Status::not_found(
        what, " does not describe the samples of its net: it is of an older version of dlhost, or of another program");
  Inputs inputs;
  for (const auto& [name, described] : json.items()) {
    auto input = input_of(described);
    if (!input) return Status::corrupt(what, ": its description of the samples of '", name, "' is damaged");
    inputs.emplace(name, *std::move(input));
  }
  return inputs;
}

Status check_classes(const Session& session, const Inputs& known) {
  for (const auto& open : session.sources()) {
    if (open.without.empty()) continue;
    const auto names = open.source->class_names();
    const auto found = known.find(open.name);
    if (names.empty() || (found != known.end() && found->second.classes == names)) continue;
    return Status::invalid(
        "source '", open.name, "': ", open.without, "; without its training samples its classes may ",
        "have other numbers: bring them back, or read on without them (--set layer.", open.name, ".train=\"\")");
  }
  return {};
}

} // namespace dlhost::run
