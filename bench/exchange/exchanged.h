// Interface of a measured exchange, after which each node has the sum of all nodes' data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <dlhost/codec.h>

#include "param/message/post.h"
#include "plugin/activity.h"

namespace dlhost::bench {

constexpr Nanoseconds patience = 10'000'000'000; // for each exchange

// The codec of an exchange; without one, values are sent as they are.
struct Encoded {
  Codec* codec = nullptr;
  const plugin::Actor* actor = nullptr;

  // The elements, of a param's `elements`, that must stay in one slice.
  std::int64_t piece(std::int64_t elements) const { return codec && codec->traits().whole_matrix ? elements : 1; }
};

// A node, from the view of its exchanges.
struct Site {
  std::uint32_t rank = 0;
  std::span<const std::uint32_t> machines; // of each node
  std::span<std::byte> own;
  std::vector<std::span<std::byte>> memories; // of each node; mirrors, if on another machine
  std::span<std::byte> masters;               // of this machine
  bool has_masters = false;                   // this node holds them
  param::Post* post = nullptr;
  const std::vector<param::RemoteCopy>* mirrors = nullptr;       // at each node, of this node's memory
  const std::vector<param::RemoteCopy>* masters_there = nullptr; // the masters of each node's machine
  Host* host = nullptr;
  plugin::Activity* activity = nullptr;

  bool is_near(std::uint32_t node) const { return machines[node] == machines[rank]; }
  // Part of this node's memory, as another node needs it.
  param::Post::Shown shown(std::uint32_t node, std::span<const std::byte> part, std::size_t place) const {
    if (part.empty() || is_near(node)) return {};
    return {part, &(*mirrors)[node], place, record::Cargo::gradients};
  }
};

class Exchanged {
 public:
  virtual ~Exchanged() = default;

  // The bytes that it needs in each node's memory, and in each machine's.
  virtual std::size_t bytes() const = 0;
  virtual std::size_t masters_bytes() const { return 0; }

  // Called before the first exchange.
  virtual void join(const Site&) = 0;
  // Advances an exchange; true once it is over. Other nodes' messages arrive between the calls.
  virtual bool go_on() = 0;
  virtual Status hear(std::uint32_t from, const param::Body&) = 0;
  virtual bool is_read() const { return true; } // all other nodes have read

  // The result: parts of the data, and the factor of the sum in them.
  struct Part {
    std::size_t first = 0;
    std::span<const float> values;
  };
  virtual std::vector<Part> made() const = 0;
  virtual float times_sum() const { return 1; }
};

// A node's initial values: small integers, whose sum is exact in any order.
inline float value_at(std::size_t element, std::uint32_t rank) {
  return static_cast<float>((rank + 1) * (1 + element % 7));
}

} // namespace dlhost::bench
