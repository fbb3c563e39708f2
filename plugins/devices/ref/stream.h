// Streams of ref. Near, work is done where it is given. Far, it is kept and done late: when the host waits, or when
// too much of it has gathered; so that a missing wait, or memory that is reused too early, shows in the results.
//
// Late work of one device is done under one lock, by whoever waits: a stream that waits for an event first brings the
// other stream up to it.
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

// What a stream has still to do. Kept and used again, so that a step allocates nothing once streams are warm.
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
  // `late`: the lock of a far device; null for a near one. `host` is charged for the time of `rate` operations a
  // nanosecond; 0: none.
  RefStream(const Pool& pool, std::mutex* late, Host* host, double rate);
  ~RefStream() override;

  Status wait() override;
  Status record(Event&) override;
  Status wait_for(Event&) override;
  void submit(HostOp&, const HostCall&) override;

  void copy(void* dst, const void* src, std::size_t bytes, Direction);
  void catch_up();                         // all that it was given is done
  bool step_until(std::uint64_t position); // one piece of work at most; whether it is there
  void zero(void* dst, std::size_t bytes);

 private:
  Work& next(); // a free entry at the end of the queue, with the lock held
  void work_until(std::uint64_t position);
  void perform(Work&);
  void run(HostOp&, const HostCall&);
  void fail(Status);
  // The host's pointer for the device's; a fault of the caller is kept for wait().
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
