#include "hub.h"

namespace dlhost::plugins::sim {
namespace {

Hub the_hub;

} // namespace

Hub& Hub::of_this_process() { return the_hub; }

// Numbers restart when all boxes are closed, so that each simulated world sees the same addresses.
std::shared_ptr<Box> Hub::open(std::string_view name, std::unique_ptr<Waiter> waiter) {
  const std::scoped_lock lock(guard_);
  if (boxes_.empty()) opened_ = 0;
  auto box = std::make_shared<Box>(concat("sim:", opened_++, "-", name), std::string(name), std::move(waiter));
  boxes_[box->address] = box;
  return box;
}

std::shared_ptr<Box> Hub::find(std::string_view address) {
  const std::scoped_lock lock(guard_);
  const auto found = boxes_.find(address);
  return found == boxes_.end() ? nullptr : found->second;
}

void Hub::close(Box& box, Nanoseconds now) {
  {
    const std::scoped_lock lock(box.guard);
    box.closed = now;
    box.letters.clear();
  }
  const std::scoped_lock lock(guard_);
  boxes_.erase(box.address);
}

} // namespace dlhost::plugins::sim
