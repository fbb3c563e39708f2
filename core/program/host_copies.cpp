#include "program/host_copies.h"

namespace dlhost::program {

Result<std::unique_ptr<Leaving>> Leaving::make(Device& device, std::size_t updates) {
  std::unique_ptr<Leaving> leaving(new Leaving(device));
  DLHOST_ASSIGN(leaving->stream_, device.stream());
  DLHOST_ASSIGN(leaving->made_, device.event());
  for (std::size_t update = 0; update < updates; ++update) {
    DLHOST_ASSIGN(leaving->left_.emplace_back(), device.event());
  }
  leaving->added_.reserve(updates);
  return leaving;
}

Status Leaving::copy(Stream& computing, void* to, const void* from, std::size_t bytes) {
  DLHOST_TRY(computing.record(*made_));
  DLHOST_TRY(stream_->wait_for(*made_));
  return device_.copy(*stream_, to, from, bytes, Direction::to_host);
}

Status Leaving::add(std::uint32_t update) {
  added_.push_back(update);
  return stream_->record(*left_[update]);
}

Status Leaving::send_what_is_there(const Send& send) {
  if (empty()) return {};
  for (; !empty(); ++sent_) {
    const std::uint32_t update = added_[sent_];
    DLHOST_ASSIGN(const bool there, left_[update]->passed());
    if (!there) return {};
    DLHOST_TRY(send(update));
  }
  return stream_->wait(); // for its errors: nothing is left to be done
}

void Leaving::begin() {
  added_.clear();
  sent_ = 0;
}

} // namespace dlhost::program
