// An op's interface to its stream, and the base of all own kernels. No CUDA header is needed here: the host test makes
// the same ops from plain C++.
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

  // True: held to be started later.
  bool hold(KernelOp&, const Call&);
  // Within the device, in the stream's order; null `from`: zeros.
  Status move(void* to, const void* from, std::size_t bytes);
  virtual Status move_now(void* to, const void* from, std::size_t bytes) = 0;

  // Before the first launch of an op: makes the stream's GPU current in the calling thread.
  virtual void enter() = 0;
  // The record of data errors that kernels write; mapped to the device.
  virtual Fault* fault() = 0;
  // Copies from the host in the stream's order; the host's memory may be reused at once.
  virtual void bring(void* to, const void* from, std::size_t bytes) = 0;
  // Keeps the first error for wait().
  void fail(Status);
  Status take_error();
  // After all launches of an op, or of a graph that ends with it: finds failed launches and names the op.
  virtual void launched(const Op&) = 0;
  // A step of `calls` calls is now a graph.
  virtual void kept(std::size_t calls) = 0;
  // Steps are not launched as graphs, or only some: logged once.
  virtual void refused(const Status& why) = 0;

 protected:
  // From now on a step's work is held, and launched as graphs on repetition.
  void replay(MakeGraph);
  void replay_no_more(); // drops held work and graphs
  // Starts the held work: before any wait of the host, and before work that bypasses hold().
  void flush();

 private:
  std::unique_ptr<Replay> replay_; // null: no work is held
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

// An array of the op in scratch.
template <class T> struct Room {
  std::size_t offset = 0;
  T* in(const Call& call) const { return reinterpret_cast<T*>(call.scratch + offset); }
};

class KernelOp : public Op {
 public:
  KernelOp();
  // Unique among all ops of the process, past ones included.
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
  // In the stream's order, after enter().
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
  // The scratch of a sum; an op's consecutive sums share the largest.
  template <class Body> void sums(std::int64_t items, std::int64_t terms) {
    sums_bytes_ = std::max(sums_bytes_, reduce_room<Body>(items, terms));
  }
  // Call once, after all declarations.
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
