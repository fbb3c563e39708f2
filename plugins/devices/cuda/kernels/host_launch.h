// A launch where kernels are plain C++: run at once, or captured for a graph with its present values.
#pragma once

#include <functional>
#include <vector>

#include "work.h"

namespace dlhost::plugins::cuda {

// The native() of a host stream; null: never captures.
struct HostLaunches {
  bool keeps = false;
  std::vector<std::function<void()>> kept;

  template <class Work> void launch(const Work& work) {
    if (keeps)
      kept.emplace_back(work);
    else
      work();
  }
};

// `run`: the kernel for such a body.
template <class Body, class Run> void launch_on_host(WorkStream& stream, const Body& body, const Run& run) {
  auto* const launches = static_cast<HostLaunches*>(stream.native());
  if (launches && launches->keeps) // copies the body only then
    launches->kept.emplace_back([body, run] { run(body); });
  else
    run(body);
}

} // namespace dlhost::plugins::cuda
