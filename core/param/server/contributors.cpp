#include "param/server/contributors.h"

#include <utility>

namespace dlhost::param {

Contributors::Contributors(std::vector<Contributor> all, std::uint32_t groups)
    : all_(std::move(all)), clients_{.first = all_.front().group,
                                     .groups = groups,
                                     .workers = static_cast<std::uint32_t>(all_.size() / groups)},
      makes_steps_(all_.size(), true), makers_(static_cast<std::uint32_t>(all_.size())) {}

Result<std::size_t> Contributors::leaver_of(std::uint32_t from, const to_server::Leave& message) const {
  DLHOST_ASSIGN(const std::size_t index, index_of(message.worker));
  if (!clients_.is_led_by(from, message.worker.group))
    return Status::corrupt("seat ", from, " sends 'Leave' for group ", message.worker.group,
                           ", which it does not lead");
  return index;
}

void Contributors::leave(std::size_t index) {
  if (!makes_steps_[index]) return;
  makes_steps_[index] = false;
  --makers_;
}

} // namespace dlhost::param
