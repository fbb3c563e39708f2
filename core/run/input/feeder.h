// Brings a source's samples into batches: reads and augments them on tasks of its own, some batches ahead, into host
// memory. What is in a batch depends on the sampling alone, never on the number of readers.
//
// One task - the worker's - calls next() and seek(). The source and its augmentations outlive the feeder; several
// feeders (one for each phase) may share them. After the first batches nothing is allocated, except by sources that
// cannot do without.
//
//   reader  claims a chunk of rows  -> waits until the batch's slot is free -> reads, augments -> counts the chunk off
//   next()  gives the oldest held batch back -> waits until the next one's chunks are all counted off
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include <dlhost/device.h>
#include <dlhost/host.h>
#include <dlhost/source.h>

#include "net/augment.h"
#include "plugin/activity.h"
#include "run/input/sampling.h"

namespace dlhost::run {

struct FeederSpec {
  Phase phase = Phase::train;           // whose samples
  bool trains = true;                   // they are augmented at random
  const plugin::Actor* actor = nullptr; // how the source is named when it throws, crashes or hangs
  SamplingSpec sampling;
  int readers = 1;  // tasks; 0: next() reads, on its caller's task
  int prefetch = 2; // batches that are read ahead of those in use
  int held = 1;     // batches that are in use at once: the one given last, and those given before it
  std::uint64_t end = std::numeric_limits<std::uint64_t>::max(); // no step from here on is read ahead or given
  std::function<void()> waiting; // called about every second while next() waits; may be empty
  Device* device = nullptr;      // whose host memory batches are read into, and which outlives the feeder; may be null

  std::size_t slots() const { return static_cast<std::size_t>((readers == 0 ? 0 : prefetch) + held); }
};

// Valid until next() was called `held` times more, seek() was, or the feeder is gone.
struct Batch {
  std::uint64_t step = 0;
  std::uint32_t epoch = 0;                   // of the first row
  std::int64_t valid = 0;                    // rows that count; the others follow them and repeat a sample
  std::span<const std::byte* const> outputs; // of the source, plain, [rows, ...]
  std::span<const std::uint32_t> samples;    // each row's number in the source
};

class Feeder {
 public:
  // `outputs`: what the source's setup declared. `augment` was made for outputs[0] and may be empty.
  static Result<std::unique_ptr<Feeder>> make(Host&, const Source&, std::span<const Port> outputs,
                                              const net::Augment& augment, const FeederSpec&);
  ~Feeder();
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  // The batch of the next step, from step 0 or where seek() went. Not ok: a sample could not be read (the message
  // names it), or the end was reached (Code::cancelled).
  Result<const Batch*> next();
  // Whether next() would give a batch at once. A reader has to be under way for that: never before the first next().
  bool ready() const;
  // The next batch is that of `step`. What was read ahead is thrown away.
  void seek(std::uint64_t step);
  // Steps are counted from there; seek() comes next.
  void move(const SampleOrigin&);

  const Sampling& sampling() const { return sampling_; }
  std::size_t bytes(std::size_t output) const; // of a batch

  // How often, and for how long, next() had to wait for a reader, or to read itself.
  struct Waits {
    std::uint64_t batches = 0;
    Nanoseconds time = 0;
  };
  const Waits& waits() const { return waits_; }

 private:
  struct Slot;
  struct Reader;

  Feeder(Host&, const Source&, const net::Augment&, const FeederSpec&, const Sampling&);
  void lay_out(std::span<const Port> outputs);
  void start();
  void stop();
  void read_ahead(Reader&);
  bool wait_until_free(std::uint64_t ahead);
  void read_chunk(Reader&, plugin::Activity&, Slot&, std::uint64_t step, std::int64_t chunk);
  Status read_row(Reader&, Slot&, Sampling::Place, std::uint32_t sample, std::int64_t row) const;
  void wait_until_read(Slot&);
  void count_wait(Nanoseconds since);
  std::uint64_t slots() const;

  Host& host_;
  const Source& source_;
  const net::Augment& augment_;
  const FeederSpec spec_;
  Sampling sampling_;
  std::int64_t chunk_rows_, chunks_; // of a batch

  std::vector<std::size_t> row_bytes_; // of each output
  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<Reader>> readers_;

  std::uint64_t first_ = 0;                // the step that counting starts at: slots and claims are counted from here
  std::uint64_t given_ = 0;                // batches that next() gave since
  std::atomic<std::uint64_t> claimed_{0};  // chunks
  std::atomic<std::uint64_t> released_{0}; // batches
  std::atomic<bool> stopping_{false};
  std::unique_ptr<Waiter> freed_, filled_;
  std::vector<std::unique_ptr<Task>> tasks_; // empty: not started
  Waits waits_;
};

} // namespace dlhost::run
