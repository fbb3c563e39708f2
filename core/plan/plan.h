// The choices made for a program: the device, the threads, and for each op the kernel and the formats. Each
// checkpoint's manifest holds the plan, so that a run resumed on another machine or build reports the differences. The
// summary holds its hash.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dlhost/ops.h>
#include <nlohmann/json_fwd.hpp>

namespace dlhost::plan {

struct OpChoice {
  std::string layer;
  Role role = Role::feature;
  std::string op;      // "gemm"
  std::string kernel;  // the device's name for it
  std::string formats; // "f32:ab f32:AB16b64a > f32:ab"
};

struct Plan {
  std::string device; // its description
  int threads = 1;
  std::int64_t batch = 0;
  std::vector<OpChoice> ops;
  // Results of the choices.
  std::size_t activation_bytes = 0, param_bytes = 0, links = 0;
};

// "forward", "backward to inputs", "backward to params".
std::string_view word(Role);

nlohmann::json to_json(const Plan&);

// Over the choices only.
std::string hash(const Plan&);
// The hash of the choices in a manifest's plan; none: it lacks some of them.
std::optional<std::string> hash_of(const nlohmann::json& plan);

// The first few differences between a manifest's plan and this one, in words. `then` is untrusted.
std::vector<std::string> differences(const nlohmann::json& then, const Plan& now);

} // namespace dlhost::plan
