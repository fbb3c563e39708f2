// What a launch is where kernels are plain C++: done at once, or kept for a graph with the values that it has then.
#pragma once

#include <functional>
#include <vector>

#include "work.h"

namespace dlhost::plugins::cuda {

// native() of a stream on the host leads here; null: nothing is ever kept.
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

// `run` is what the kernel is with such a body.
template <class Body, class Run> void launch_on_host(WorkStream& stream, const Body& body, const Run& run) {
  auto* const launches = static_cast<HostLaunches*>(stream.native());
  if (launches && launches->keeps) // a body is copied then only
    launches->kept.emplace_back([body, run] { run(body); });
  else
    run(body);
}

} // namespace dlhost::plugins::cuda
