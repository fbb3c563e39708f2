// What an op needs of the stream that it runs on, and what all ops of our own kernels share. No header of CUDA is
// wanted here: the same ops are made of plain C++ for the test that runs them on the host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <dlhost/device.h>
#include <dlhost/ops.h>
#include <dlhost/status.h>

#include "body.h"
#include "split.h"

namespace dlhost::plugins::cuda {

class WorkStream : public Stream {
 public:
  // Before the first launch of an op: makes the stream's GPU the calling thread's.
  virtual void enter() = 0;
  // Where kernels say what is wrong with the data; the device reaches it.
  virtual Fault* fault() = 0;
  // Copies from the host in the stream's turn; the host's memory may be gone at once.
  virtual void bring(void* to, const void* from, std::size_t bytes) = 0;
  // Kept for wait(), unless an earlier one is.
  virtual void fail(Status) = 0;
  // After all launches of an op: finds those that failed and names the op.
  virtual void launched(const Op&) = 0;
};

struct Call {
  std::span<const void* const> in;
  std::span<void* const> out;
  std::byte* scratch = nullptr;
  const Dynamic& dynamic;

  std::int64_t counted(std::int64_t rows) const {
    return dynamic.valid < 0 || dynamic.valid > rows ? rows : dynamic.valid;
  }
};

// An array of an op's own in scratch.
template <class T> struct Room {
  std::size_t offset = 0;
  T* in(const Call& call) const { return reinterpret_cast<T*>(call.scratch + offset); }
};

class KernelOp : public Op {
 public:
  void execute(Stream& stream, std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch,
               const Dynamic& dynamic) final {
    auto& work = static_cast<WorkStream&>(stream);
    if (scratch_bytes > 0 && !scratch)
      return work.fail(
          Status::internal("cuda: ", kernel, " needs ", scratch_bytes, " bytes of scratch, and was given none"));
    work.enter();
    run(work, {inputs, outputs, static_cast<std::byte*>(scratch), dynamic});
    work.launched(*this);
  }

 protected:
  virtual void run(WorkStream&, const Call&) = 0;

  template <class T> Room<T> room(std::int64_t count) {
    const Room<T> made{scratch_bytes};
    scratch_bytes += (static_cast<std::size_t>(count) * sizeof(T) + 255) / 256 * 256;
    return made;
  }
  // The scratch of a sum; sums of one op that follow each other share the largest.
  template <class Body> void sums(std::int64_t items, std::int64_t terms) {
    sums_bytes_ = std::max(sums_bytes_, reduce_room<Body>(items, terms));
  }
  // Once, when all is declared.
  void settle_sums() {
    sums_offset_ = scratch_bytes;
    scratch_bytes += (sums_bytes_ + 255) / 256 * 256;
  }
  void* sums_in(const Call& call) const { return call.scratch + sums_offset_; }

 private:
  std::size_t sums_bytes_ = 0, sums_offset_ = 0;
};

} // namespace dlhost::plugins::cuda
