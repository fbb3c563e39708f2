// Measured times of a program's steps. While nothing is measured, timed() only calls the work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <dlhost/device.h>
#include <dlhost/host.h>

namespace dlhost::program {

// The measured cost of one step of the program.
struct Timing {
  std::string what; // unit or param
  std::string type; // "dense", "sgd", "format"
  const char* direction = "";
  double seconds = 0;
  std::uint64_t calls = 0;
  double operations = 0, bytes = 0; // of one call; 0: unknown
};

class Timings {
 public:
  // `all`: one for each step of the program, in order.
  void start(Clock& clock, Stream& stream, std::vector<Timing> all) {
    clock_ = &clock;
    stream_ = &stream;
    all_ = std::move(all);
  }
  void stop() {
    clock_ = nullptr;
    all_.clear();
  }
  bool measures() const { return clock_ != nullptr; }
  const std::vector<Timing>& all() const { return all_; }

  // Counts the time of the work, what it queues on the stream included, for this step of the program.
  template <class Work> Status timed(std::size_t step, Work&& work) {
    if (!clock_) return work();
    const Nanoseconds begin = clock_->now();
    DLHOST_TRY(work());
    DLHOST_TRY(stream_->wait());
    all_[step].seconds += static_cast<double>(clock_->now() - begin) * 1e-9;
    return {};
  }
  // The program has made all its steps once more.
  void count() {
    for (Timing& timing : all_) ++timing.calls;
  }

 private:
  Clock* clock_ = nullptr; // null: nothing is measured
  Stream* stream_ = nullptr;
  std::vector<Timing> all_;
};

} // namespace dlhost::program
