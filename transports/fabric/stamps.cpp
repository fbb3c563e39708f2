#include "stamps.h"

#include <cstring>

namespace dlhost::plugins::fabric {

Stamps::Stamps(const meeting::Link& link)
    : sender_(std::uint64_t{link.ticket().number} << 48), token_(std::uint64_t{link.ticket().token} << 32) {
  const meeting::Key key = link.key("numbers of messages");
  std::memcpy(&first_, key.data(), sizeof first_);
}

} // namespace dlhost::plugins::fabric
