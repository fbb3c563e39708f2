#include "program/host_copies.h"

namespace dlhost::program {

Result<std::unique_ptr<HostCopies>> HostCopies::make(Device& device, std::size_t updates) {
  std::unique_ptr<HostCopies> copies(new HostCopies(device));
  DLHOST_ASSIGN(copies->stream_, device.stream());
  DLHOST_ASSIGN(copies->made_, device.event());
  for (std::size_t update = 0; update < updates; ++update) {
    DLHOST_ASSIGN(copies->left_.emplace_back(), device.event());
  }
  copies->added_.reserve(updates);
  return copies;
}

Status HostCopies::copy(Stream& computing, void* to, const void* from, std::size_t bytes) {
  DLHOST_TRY(computing.record(*made_));
  DLHOST_TRY(stream_->wait_for(*made_));
  return device_.copy(*stream_, to, from, bytes, Direction::to_host);
}

Status HostCopies::add(std::uint32_t update) {
  added_.push_back(update);
  return stream_->record(*left_[update]);
}

Status HostCopies::send_what_is_there(const Send& send) {
  if (empty()) return {};
  for (; !empty(); ++sent_) {
    const std::uint32_t update = added_[sent_];
    DLHOST_ASSIGN(const bool there, left_[update]->passed());
    if (!there) return {};
    DLHOST_TRY(send(update));
  }
  return stream_->wait(); // for its errors: the copies are done
}

void HostCopies::begin() {
  added_.clear();
  sent_ = 0;
}

} // namespace dlhost::program
