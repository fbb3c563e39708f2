// Helpers to start runs in simulated worlds.
#pragma once

#include <cmath>

#include <gmock/gmock.h>

#include "share.h"
#include "tools/simulate/simulation.h"
#include "trained.h"

namespace dlhost::test {

class SimulationTest : public Bench {
 protected:
  tools::Simulated simulate_whatever_comes(const std::string& text, const std::vector<std::string>& set,
                                           const tools::SimulationSpec& spec) {
    const std::string path = folder_ / "job.toml";
    EXPECT_TRUE(host_.disk().write_text(path, text).ok());
    auto job = config::load(host_.disk(), path, set, *registry_);
    EXPECT_TRUE(job.ok()) << job.status().message();
    return job.ok() ? tools::simulate(*job, plugin::entries_of(plugin::settings_of_process({})), spec)
                    : tools::Simulated();
  }
  tools::Simulated simulate(const std::string& text, const std::vector<std::string>& set,
                            const tools::SimulationSpec& spec) {
    auto simulated = simulate_whatever_comes(text, set, spec);
    EXPECT_TRUE(simulated.status.ok()) << simulated.status.message() << history_of(simulated);
    EXPECT_THAT(simulated.audit.faults, testing::IsEmpty()) << history_of(simulated);
    EXPECT_THAT(simulated.audit.torn, testing::IsEmpty()) << history_of(simulated);
    return simulated;
  }

  static std::string history_of(const tools::Simulated& simulated) {
    std::string lines;
    for (const auto& line : simulated.told) lines += "\n" + line;
    return lines;
  }
};

// At the end all server groups have equal params, except for the last bits of sums in different orders. Empty: equal.
inline std::string differs_elsewhere(const tools::Simulated& run) {
  constexpr float last_bits = 1e-3F;
  for (const auto& params : run.elsewhere)
    for (const auto& [name, values] : params)
      for (std::size_t i = 0; i < values.size(); ++i)
        if (const float here = run.params.at(name)[i]; !(std::abs(values[i] - here) <= last_bits))
          return concat("element ", i, " of ", name, " is ", here, " at one server group, and ", values[i],
                        " at another");
  return "";
}

// 72 samples, each counted by the updates that contain it. `product`: counts in the weight of a dense layer. `beside`:
// counts also in another param, with that handler.
inline std::string tally_job(bool product = false, const std::string& beside = "") {
  const std::string counting = product ? R"(
[[layer]]
name = "marks"
type = "marks"
src = "data"
columns = 8
[[layer]]
name = "tally"
type = "dense"
src = "marks"
units = 9
bias = false
param.weight.init = 0
[[layer]]
name = "counts"
type = "counts"
src = "tally"
columns = 8
)"
                                       : R"(
[[layer]]
name = "tally"
type = "tally"
src = "data"
samples = 72
)";
  return R"(name = "tally"
[train]
batch = 12
device = "ref"
stop = { steps = 24 }
[recovery]
every = { steps = 5 }
[updater]
type = "sgd"
rate = 1.0
[[layer]]
name = "data"
type = "synthetic"
mode = "learnable"
shape = [2]
classes = 2
train = 72
)" + counting +
         (beside.empty() ? ""
                         : concat(R"(
[[layer]]
name = "twin"
type = "tally"
src = "data"
samples = 72
param.applied.consistency = )",
                                  beside, "\n"));
}

} // namespace dlhost::test
