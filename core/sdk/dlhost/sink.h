// Sinks: layers that write their inputs, a row for each sample, during an evaluation. A sink computes on the host and
// has no outputs. Core opens it before a pass over all samples of a phase and closes it after; it is not opened for
// training passes. Thread: one task.
#pragma once

#include <cstdint>
#include <string>

#include <dlhost/layer.h>

namespace dlhost {

class Host;

class DLHOST_API Sink : public Layer {
 public:
  ~Sink() override;
  // Relative paths start at `folder`, the job file's. The pass will bring `samples` samples, each once.
  virtual Status open(Host&, const std::string& folder, std::int64_t samples) = 0;
  // The written file appears, whole. Errors: the first error of the pass.
  virtual Status close() = 0;
};

} // namespace dlhost
