// What leaves a device whose memory the host cannot reach, beside the computing: copies on a stream of its own, and the
// updates that may be sent once they are there. Used by the task that computes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <dlhost/device.h>

namespace dlhost::program {

class Leaving {
 public:
  static Result<std::unique_ptr<Leaving>> make(Device&, std::size_t updates);

  // Once `computing` has done what it was given so far.
  Status copy(Stream& computing, void* to, const void* from, std::size_t bytes);
  // All that this update needs is on its way.
  Status add(std::uint32_t update);
  // Those whose copies are there, in the order in which they were added; not ok ends it.
  using Send = std::function<Status(std::uint32_t update)>;
  Status send_what_is_there(const Send&);
  bool empty() const { return sent_ == added_.size(); }
  // Until all copies are done, sent or not.
  Status wait() { return stream_->wait(); }
  // Before the next step: all have been sent.
  void begin();

 private:
  explicit Leaving(Device& device) : device_(device) {}
  Device& device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> made_;
  std::vector<std::unique_ptr<Event>> left_; // of each update
  std::vector<std::uint32_t> added_;         // in this step
  std::size_t sent_ = 0;
};

} // namespace dlhost::program
