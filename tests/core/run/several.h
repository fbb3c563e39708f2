// Jobs of several workers, and the comparison of their training with one worker's.
#pragma once

#include <cmath>

#include "trained.h"

namespace dlhost::test {

inline std::vector<std::string> workers(int count, int servers, std::vector<std::string> more = {}) {
  more.push_back(concat("topology.workers_per_group=", count));
  more.push_back(concat("topology.servers_per_group=", servers));
  more.push_back("topology.slice_elements=20"); // to have several slices
  return more;
}

// The small net with running state.
inline std::string normed_job() {
  std::string job = small_job();
  const std::string act = "[[layer]]\nname = \"act\"\ntype = \"tanh\"\nsrc = \"fc1\"\n";
  job.replace(job.find(act), act.size(),
              "[[layer]]\nname = \"norm\"\ntype = \"batch_norm\"\nsrc = \"fc1\"\n"
              "[[layer]]\nname = \"act\"\ntype = \"tanh\"\nsrc = \"norm\"\n");
  return job;
}

// Why workers of several machines cannot be tested; empty: they can.
inline std::string no_machines(plugin::Registry& registry) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  return "how far each is, is put into memory that others read meanwhile: that races by design";
#endif
#endif
  return registry.create<Transport>("fabric", {}).status().message();
}

inline void expect_near(const Trained& one, const Trained& several, double relative, std::size_t steps) {
  ASSERT_GE(one.losses.size(), steps);
  ASSERT_EQ(several.losses.size(), one.losses.size());
  for (std::size_t i = 0; i < steps; ++i)
    EXPECT_NEAR(one.losses[i], several.losses[i], relative * std::abs(one.losses[i])) << "step " << i;
}

} // namespace dlhost::test
