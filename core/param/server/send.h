// How a server sends its messages.
#pragma once

#include <cstdint>
#include <functional>

#include "param/message/protocol.h"

namespace dlhost::param {

using Send = std::function<Status(std::uint32_t seat, const Message&)>;

} // namespace dlhost::param
