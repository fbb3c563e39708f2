// A way to move messages between two processes in the benchmark of transports. Each side makes a line, the sides
// exchange addresses, and then send and receive a number of messages of one size.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <dlhost/transport.h>

namespace dlhost::bench {

// Messages in flight, both in a sender and in a receiver.
inline constexpr std::size_t window = 8;

class Line {
 public:
  virtual ~Line() = default;
  virtual std::string address() const = 0;
  virtual void connect(const std::string& address) = 0;
  // Sends `count` messages, each from messages[i % window]; returns when all buffers may be reused.
  virtual void send(std::span<const std::span<const std::byte>> messages, std::size_t count) = 0;
  // Receives `count` messages; calls `arrived(i, message)` in their order.
  virtual void receive(std::span<const std::span<std::byte>> rooms, std::size_t count,
                       const std::function<void(std::size_t, std::span<std::byte>)>& arrived) = 0;
};

// The settings of one side's line.
struct Side {
  std::size_t largest = 0; // bytes of a message
  bool first = true;
  std::string host; // its address, if the line needs one
};
struct LineKind {
  std::string name, transport, provider; // of a row: its name and kind
  bool across_hosts = false;
  // Throws, with the reason, if the machine lacks it.
  std::function<std::unique_ptr<Line>(const Side&)> make;
  bool by_name = false; // measured only if it is named
};

using OpenEndpoint = std::function<Result<std::unique_ptr<Endpoint>>(Host&)>;
std::unique_ptr<Line> make_endpoint_line(const OpenEndpoint&);
std::unique_ptr<Line> make_queue_line(std::size_t largest, bool first);
std::unique_ptr<Line> make_fabric_line(const std::string& provider, const std::string& host);

// All kinds on this machine.
const std::vector<LineKind>& line_kinds();

} // namespace dlhost::bench
