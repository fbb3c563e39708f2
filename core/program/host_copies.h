// Copies from a device whose memory the host cannot reach, on their own stream beside the computing, and the updates to
// send when their copies are done. Thread: the computing task.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <dlhost/device.h>

namespace dlhost::program {

class HostCopies {
 public:
  static Result<std::unique_ptr<HostCopies>> make(Device&, std::size_t updates);

  // Copies after the work queued on `computing` so far.
  Status copy(Stream& computing, void* to, const void* from, std::size_t bytes);
  // All copies for this update are queued.
  Status add(std::uint32_t update);
  // Sends the updates whose copies are done, in the order of add(). Stops at an error.
  using Send = std::function<Status(std::uint32_t update)>;
  Status send_what_is_there(const Send&);
  bool empty() const { return sent_ == added_.size(); }
  // Waits for all copies, sent or not.
  Status wait() { return stream_->wait(); }
  // Call before the next step. Requires: all updates are sent.
  void begin();

 private:
  explicit HostCopies(Device& device) : device_(device) {}
  Device& device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> made_;
  std::vector<std::unique_ptr<Event>> left_; // one for each update
  std::vector<std::uint32_t> added_;         // in this step
  std::size_t sent_ = 0;
};

} // namespace dlhost::program
