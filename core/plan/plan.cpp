#include "plan/plan.h"

#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "env/digest.h"
#include "env/json_text.h"

namespace dlhost::plan {

namespace {

using Json = nlohmann::json;

Json choices(const Plan& plan) {
  Json ops = Json::array();
  for (const auto& op : plan.ops) ops.push_back({op.layer, std::string(word(op.role)), op.op, op.kernel, op.formats});
  return {{"device", plan.device}, {"threads", plan.threads}, {"batch", plan.batch}, {"ops", ops}};
}

// The choices by layer, role and kind of op, with a number for repeated ones.
std::map<std::string, std::string> by_op(const Json& ops) {
  std::map<std::string, std::string> found;
  if (!ops.is_array()) return found;
  for (const auto& op : ops) {
    const auto part = [&](std::size_t i) {
      return op.is_array() && i < op.size() && op[i].is_string() ? op[i].get<std::string>() : std::string("?");
    };
    const std::string name = fmt::format("layer '{}', {} {}", part(0), part(1), part(2));
    std::string key = name;
    for (int number = 2; found.contains(key); ++number) key = fmt::format("{} {}", name, number);
    found[key] = fmt::format("{} ({})", part(3), part(4));
  }
  return found;
}

std::string told(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) ? env::json_text(object[key]) : "not given";
}

} // namespace

std::string_view word(Role role) {
  switch (role) {
  case Role::feature: return "forward";
  case Role::input_gradient: return "backward to inputs";
  case Role::param_gradient: return "backward to params";
  }
  return "";
}

Json to_json(const Plan& plan) {
  Json json = choices(plan);
  json["hash"] = hash(plan);
  json["activation_bytes"] = plan.activation_bytes;
  json["param_bytes"] = plan.param_bytes;
  json["links"] = plan.links;
  return json;
}

std::string hash(const Plan& plan) { return *hash_of(choices(plan)); }

std::optional<std::string> hash_of(const Json& plan) {
  Json chosen = Json::object();
  for (const char* key : {"device", "threads", "batch", "ops"}) {
    if (!plan.contains(key)) return {};
    chosen[key] = plan[key];
  }
  const std::string text = env::json_text(chosen);
  return env::digest(std::as_bytes(std::span(text)), 8);
}

std::vector<std::string> differences(const Json& then, const Plan& now) {
  constexpr std::size_t most = 6;
  const Json chosen = choices(now);
  std::vector<std::string> found;
  std::size_t more = 0;
  const auto add = [&](std::string text) {
    if (found.size() < most)
      found.push_back(std::move(text));
    else
      ++more;
  };
  for (const char* key : {"device", "threads", "batch"})
    if (const auto was = told(then, key), is = told(chosen, key); was != is)
      add(fmt::format("{} was {} and is {}", key, was, is));
  const auto before = by_op(then.is_object() && then.contains("ops") ? then["ops"] : Json()),
             after = by_op(chosen["ops"]);
  for (const auto& [op, choice] : after) {
    const auto known = before.find(op);
    if (known == before.end())
      add(fmt::format("{} is new: {}", op, choice));
    else if (known->second != choice)
      add(fmt::format("{} was {} and is {}", op, known->second, choice));
  }
  for (const auto& [op, choice] : before)
    if (!after.contains(op)) add(fmt::format("{} is gone: it was {}", op, choice));
  if (more > 0) found.push_back(fmt::format("and {} more", more));
  return found;
}

} // namespace dlhost::plan
