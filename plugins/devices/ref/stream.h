// Streams of ref. Near: work is done at once. Far: work is queued and done late, when the host waits or when too much
// has gathered. So a missing wait, or memory reused too early, shows in the results.
//
// Thread: late work of one device runs under one lock, in any thread that waits. A stream that waits for an event first
// brings the event's stream up to it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <dlhost/device.h>
#include <dlhost/host.h>

#include <dlhost/host_op.h>

#include "memory.h"

namespace dlhost::plugins::ref {

class RefStream;

// A point of a stream. The streams of a far device outlive waits for their events: core destroys streams last.
class RefEvent : public Event {
 public:
  Result<bool> passed() override;
  std::shared_ptr<RefStream*> stream; // null: never recorded
  std::uint64_t position = 0;
};

// A queued work item. Reused, so that a step of a warm stream allocates nothing.
struct Work {
  enum class What : std::uint8_t { op, copy, zero, event } what = What::op;
  HostOp* op = nullptr;
  std::vector<const void*> in;
  std::vector<void*> out;
  void* scratch = nullptr;
  std::vector<float> scalars;
  std::vector<std::uint32_t> samples;
  Dynamic dynamic;
  void* dst = nullptr;
  const void* src = nullptr;
  std::size_t bytes = 0;
  std::shared_ptr<RefStream*> other;
  std::uint64_t position = 0;
};

class RefStream : public Stream {
 public:
  // `late`: the lock of a far device; null: near. `host` is charged for the time of `rate` operations a nanosecond; 0:
  // not charged.
  RefStream(const Pool& pool, std::mutex* late, Host* host, double rate);
  ~RefStream() override;

  Status wait() override;
  Status record(Event&) override;
  Status wait_for(Event&) override;
  void submit(HostOp&, const HostCall&) override;

  void copy(void* dst, const void* src, std::size_t bytes, Direction);
  void catch_up();                         // does all queued work
  bool step_until(std::uint64_t position); // does at most one work item; true: the position is reached
  void zero(void* dst, std::size_t bytes);

 private:
  Work& next(); // a free entry at the end of the queue; Requires: the lock held
  void work_until(std::uint64_t position);
  void perform(Work&);
  void run(HostOp&, const HostCall&);
  void fail(Status);
  // The host pointer of a device pointer; an invalid one is an error of wait().
  void* reach(const void*);
  void reach(Work&);

  const Pool& pool_;
  std::mutex* late_;
  Host* host_;
  double rate_;
  std::shared_ptr<RefStream*> self_;
  std::vector<Work> ring_;
  std::uint64_t given_ = 0, done_ = 0;
  Status first_error_;
};

} // namespace dlhost::plugins::ref
