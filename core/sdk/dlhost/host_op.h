// An op whose kernel is host code: of a companion (dlhost/kernel.h) for a device that computes on the host, or of such
// a device itself. Its work is done in the turn of the stream that it was given to, which may be late.
#pragma once

#include <cstddef>
#include <span>

#include <dlhost/ops.h>
#include <dlhost/status.h>

namespace dlhost {

// One run, with pointers that the host may follow.
struct HostCall {
  std::span<const void* const> in;
  std::span<void* const> out;
  std::byte* scratch = nullptr;
  const Dynamic& dynamic;
};

class DLHOST_API HostOp : public Op {
 public:
  // Hands itself to the stream.
  void execute(Stream&, std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch,
               const Dynamic&) final;
  // The work. What is wrong comes back from Stream::wait. On the task that works the stream off.
  virtual Status compute(const HostCall&) = 0;
};

} // namespace dlhost
