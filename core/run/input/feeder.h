// Makes batches from a source's samples: reads and augments them on its own tasks, some batches ahead, into host
// memory. The contents of a batch depend only on the sampling, not on the number of readers.
//
// Thread: one task, the worker's, calls next() and seek().
// Owns: the source and its augmentations outlive the feeder; several feeders (one for each phase) may share them.
// After the first batches the feeder allocates nothing, though a source may.
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
  Phase phase = Phase::train;           // whose samples are read
  bool trains = true;                   // true: random augmentation
  bool reads = true;                    // false: batches have only the numbers of their samples
  const plugin::Actor* actor = nullptr; // names the source in messages about exceptions, crashes and hangs
  SamplingSpec sampling;
  int readers = 1;  // tasks; 0: next() reads, on its caller's task
  int prefetch = 2; // batches read ahead of those in use
  int held = 1;     // batches in use at once: the last given, and those before it
  std::uint64_t end = std::numeric_limits<std::uint64_t>::max(); // steps from here on are not read or given
  std::function<void()> waiting; // called about every second while next() waits; may be empty
  Device* device = nullptr;      // pins the host memory of batches; outlives the feeder; may be null

  std::size_t slots() const { return static_cast<std::size_t>((readers == 0 ? 0 : prefetch) + held); }
};

// Valid until the held-th next call of next(), a call of seek(), or the feeder's destruction.
struct Batch {
  std::uint64_t step = 0;
  std::uint32_t epoch = 0;                   // of the first row
  std::int64_t valid = 0;                    // rows that count; they come first, and the others repeat a sample
  std::span<const std::byte* const> outputs; // of the source, plain, [rows, ...]; none if it is not read
  std::span<const std::uint32_t> samples;    // sample number of each row
};

class Feeder {
 public:
  // `outputs`: those declared by the source's setup. `augment`: made for outputs[0]; may be empty.
  static Result<std::unique_ptr<Feeder>> make(Host&, const Source&, std::span<const Port> outputs,
                                              const net::Augment& augment, const FeederSpec&);
  ~Feeder();
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  // The batch of the next step, from step 0 or the step of seek(). Errors: a sample cannot be read (the message names
  // it), or the end is reached (Code::cancelled).
  Result<const Batch*> next();
  // True if next() would not wait. Always false before the first next(), which starts the readers.
  bool ready() const;
  // The next batch is that of `step`. Drops the batches read ahead.
  void seek(std::uint64_t step);
  // Counts steps from this origin. Requires: seek() follows.
  void move(const SampleOrigin&);

  const Sampling& sampling() const { return sampling_; }
  std::size_t bytes(std::size_t output) const; // of a batch

  // How often and how long next() waited for a reader, or read itself.
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

  std::uint64_t first_ = 0;                // step at which slots and claims begin to count
  std::uint64_t given_ = 0;                // batches given since then
  std::atomic<std::uint64_t> claimed_{0};  // chunks
  std::atomic<std::uint64_t> released_{0}; // batches
  std::atomic<bool> stopping_{false};
  std::unique_ptr<Waiter> freed_, filled_;
  std::vector<std::unique_ptr<Task>> tasks_; // empty: not started
  Waits waits_;
};

} // namespace dlhost::run
