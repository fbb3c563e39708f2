// How a server sends messages to seats, and shows them memory that they do not share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "param/message/protocol.h"
#include "record/traffic.h"

namespace dlhost::param {

using Send = std::function<Status(std::uint32_t seat, const Body&)>;
// Sends a message, and before it a part of the masters, to a seat of another machine.
using SendWith = std::function<Status(std::uint32_t seat, const Body&, std::span<const std::byte> params)>;
// Shows a part of the masters to a seat of any machine.
using Show = std::function<Status(std::uint32_t seat, std::span<const std::byte> part, record::Cargo)>;
// Shows a part of this worker's memory.
using ShowOwn = std::function<Status(std::uint32_t seat, std::span<const std::byte> part)>;

} // namespace dlhost::param
