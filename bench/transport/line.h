// One way to move messages between two processes, as the benchmark of transports sees it: each side makes a line, they
// tell each other their addresses, and then send and receive so many messages of a size.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <dlhost/transport.h>

namespace dlhost::bench {

// Messages that are under way at once, both in a sender and in a receiver.
inline constexpr std::size_t window = 8;

class Line {
 public:
  virtual ~Line() = default;
  virtual std::string address() const = 0;
  virtual void connect(const std::string& address) = 0;
  // `count` messages, each from messages[i % window]; returns when all buffers may be used again.
  virtual void send(std::span<const std::span<const std::byte>> messages, std::size_t count) = 0;
  // `count` messages; `arrived(i, message)` in their order.
  virtual void receive(std::span<const std::span<std::byte>> rooms, std::size_t count,
                       const std::function<void(std::size_t, std::span<std::byte>)>& arrived) = 0;
};

// What one side's line is to be.
struct Side {
  std::size_t largest = 0; // bytes of a message
  bool first = true;
  std::string host; // its address, where lines have one
};
struct LineKind {
  std::string name, transport, provider; // of a row: what it is called, and what it is
  bool across_hosts = false;
  // Throws where the machine does not have it, with the reason.
  std::function<std::unique_ptr<Line>(const Side&)> make;
  bool by_name = false; // measured only where it is named
};

using OpenEndpoint = std::function<Result<std::unique_ptr<Endpoint>>(Host&)>;
std::unique_ptr<Line> make_endpoint_line(const OpenEndpoint&);
std::unique_ptr<Line> make_queue_line(std::size_t largest, bool first);
std::unique_ptr<Line> make_fabric_line(const std::string& provider, const std::string& host);

// All that there are here.
const std::vector<LineKind>& line_kinds();

} // namespace dlhost::bench
