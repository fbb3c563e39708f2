// An op with a kernel in host code: of a companion (dlhost/kernel.h) for a device that computes on the host, or of such
// a device itself. It runs in the order of its stream, which may be later.
#pragma once

#include <cstddef>
#include <span>

#include <dlhost/ops.h>
#include <dlhost/status.h>

namespace dlhost {

// The arguments of one run, with pointers that the host may follow.
struct HostCall {
  std::span<const void* const> in;
  std::span<void* const> out;
  std::byte* scratch = nullptr;
  const Dynamic& dynamic;
};

class DLHOST_API HostOp : public Op {
 public:
  // Submits itself to the stream.
  void execute(Stream&, std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch,
               const Dynamic&) final;
  // Does the work. Errors come back from Stream::wait. Thread: the task that runs the stream's work.
  virtual Status compute(const HostCall&) = 0;
};

} // namespace dlhost
