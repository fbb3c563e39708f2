// Sinks: layers that write what they are given, a row for each sample, during an evaluation. A sink computes on the
// host and has no outputs. Core opens it before a pass over all samples of a phase and closes it after; a pass of
// training is never opened. Calls come from one task.
#pragma once

#include <cstdint>
#include <string>

#include <dlhost/layer.h>

namespace dlhost {

class Host;

class DLHOST_API Sink : public Layer {
 public:
  ~Sink() override;
  // Relative paths are relative to `folder`, the job file's. So many samples will come, each once.
  virtual Status open(Host&, const std::string& folder, std::int64_t samples) = 0;
  // What was written appears, whole; or the first error of the pass.
  virtual Status close() = 0;
};

} // namespace dlhost
