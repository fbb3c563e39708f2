// What lies at all nodes, and of which each comes to have the sum of all: how, is what is measured.
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

constexpr Nanoseconds patience = 10'000'000'000; // for one exchange

// What goes through a codec does; without one all goes as it is.
struct Encoded {
  Codec* codec = nullptr;
  const plugin::Actor* actor = nullptr;

  // Elements of a param of so many that have to stay in one slice.
  std::int64_t piece(std::int64_t elements) const { return codec && codec->traits().whole_matrix ? elements : 1; }
};

// One of the nodes, as what it exchanges sees it.
struct Site {
  std::uint32_t rank = 0;
  std::span<const std::uint32_t> machines; // of each node
  std::span<std::byte> own;
  std::vector<std::span<const std::byte>> memories; // of each node, or mirrors of them
  std::span<std::byte> masters;                     // of this machine
  bool has_masters = false;                         // they are this node's
  param::Post* post = nullptr;
  const std::vector<param::Mirror>* mirrors = nullptr;       // at each node, of this one's memory
  const std::vector<param::Mirror>* masters_there = nullptr; // and the masters of each node's machine
  Host* host = nullptr;
  plugin::Activity* activity = nullptr;

  bool is_near(std::uint32_t node) const { return machines[node] == machines[rank]; }
  // Part of its own memory, as another is to have it.
  param::Post::Shown shown(std::uint32_t node, std::span<const std::byte> part, std::size_t place) const {
    if (part.empty() || is_near(node)) return {};
    return {part, &(*mirrors)[node], place, record::Cargo::gradients};
  }
};

class Exchanged {
 public:
  virtual ~Exchanged() = default;

  // What it takes of each node's memory, and of each machine's.
  virtual std::size_t bytes() const = 0;
  virtual std::size_t masters_bytes() const { return 0; }

  // Before the first exchange.
  virtual void join(const Site&) = 0;
  // One more; true once it is over. Others' words come in between.
  virtual bool go_on() = 0;
  virtual Status hear(const param::Message&) = 0;
  virtual bool is_read() const { return true; } // by all others

  // What is there then: parts, and how many times the sum.
  struct Part {
    std::size_t first = 0;
    std::span<const float> values;
  };
  virtual std::vector<Part> made() const = 0;
  virtual float times_sum() const { return 1; }
};

// What a node has there: small numbers, whose sum is exact whatever the order.
inline float value_at(std::size_t element, std::uint32_t rank) {
  return static_cast<float>((rank + 1) * (1 + element % 7));
}

} // namespace dlhost::bench
