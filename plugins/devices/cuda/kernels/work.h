// What an op needs of the stream that it runs on, and what all ops of our own kernels share. No header of CUDA is
// wanted here: the same ops are made of plain C++ for the test that runs them on the host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <dlhost/device.h>
#include <dlhost/ops.h>
#include <dlhost/status.h>

#include "body.h"
#include "graph.h"
#include "split.h"

namespace dlhost::plugins::cuda {

struct Call;
class KernelOp;
class Replay;

class WorkStream : public Stream {
 public:
  WorkStream();
  ~WorkStream() override;
  void begin_step() override;
  void end_step() override;

  // Whether it is kept to be begun later.
  bool hold(KernelOp&, const Call&);
  // Within the device, in the stream's turn: zeros where there is nothing to copy.
  Status move(void* to, const void* from, std::size_t bytes);
  virtual Status move_now(void* to, const void* from, std::size_t bytes) = 0;

  // Before the first launch of an op: makes the stream's GPU the calling thread's.
  virtual void enter() = 0;
  // Where kernels say what is wrong with the data; the device reaches it.
  virtual Fault* fault() = 0;
  // Copies from the host in the stream's turn; the host's memory may be gone at once.
  virtual void bring(void* to, const void* from, std::size_t bytes) = 0;
  // Kept for wait(), unless an earlier one is.
  void fail(Status);
  Status take_error();
  // After all launches of an op, or of a graph whose last it is: finds those that failed and names the op.
  virtual void launched(const Op&) = 0;
  // So many calls of a step are a graph from now on.
  virtual void kept(std::size_t calls) = 0;
  // Steps are not launched as graphs, or not all of them: told once.
  virtual void refused(const Status& why) = 0;

 protected:
  // From now on a step's work is held back, and launched as graphs when it comes again.
  void replay(MakeGraph);
  void replay_no_more(); // drops what is held, and the graphs
  // Begins what is held: before whatever the host waits for, or gives to the stream by another way.
  void flush();

 private:
  std::unique_ptr<Replay> replay_; // null: nothing is held back
  Status first_;
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
  KernelOp();
  // No other op of this process has, or had, the same.
  std::uint64_t number() const { return number_; }

  void execute(Stream& stream, std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch,
               const Dynamic& dynamic) final {
    auto& work = static_cast<WorkStream&>(stream);
    if (scratch_bytes > 0 && !scratch)
      return work.fail(
          Status::internal("cuda: ", kernel, " needs ", scratch_bytes, " bytes of scratch, and was given none"));
    const Call call{inputs, outputs, static_cast<std::byte*>(scratch), dynamic};
    if (work.hold(*this, call)) return;
    work.enter();
    perform(work, call);
  }
  // In the stream's turn, once it has been entered.
  void perform(WorkStream& work, const Call& call) {
    run(work, call);
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
  std::uint64_t number_;
  std::size_t sums_bytes_ = 0, sums_offset_ = 0;
};

} // namespace dlhost::plugins::cuda
