// What was chosen for a program: the device, the threads, and for each op the kernel and the formats that the device
// settled on. It stands in the manifest of each checkpoint, so that a run that goes on elsewhere, or under another
// build, is told what differs; its hash stands in the summary.
#pragma once

#include <string>
#include <vector>

#include <dlhost/ops.h>
#include <nlohmann/json_fwd.hpp>

namespace dlhost::plan {

struct OpChoice {
  std::string layer;
  Role role = Role::feature;
  std::string op;      // "gemm"
  std::string kernel;  // as the device calls it
  std::string formats; // "f32:ab f32:AB16b64a > f32:ab"
};

struct Plan {
  std::string device; // its description
  int threads = 1;
  std::int64_t batch = 0;
  std::vector<OpChoice> ops;
  // What follows from the choices.
  std::size_t activation_bytes = 0, param_bytes = 0, links = 0;
};

// "forward", "backward to inputs", "backward to params".
std::string_view word(Role);

nlohmann::json to_json(const Plan&);

// Of the choices: equal where they are.
std::string hash(const Plan&);

// What differs between the plan of a manifest, of which nothing is believed, and this one, in words; the first few.
std::vector<std::string> differences(const nlohmann::json& then, const Plan& now);

} // namespace dlhost::plan
