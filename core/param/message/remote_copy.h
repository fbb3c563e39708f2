// Memory that several tasks see. Tasks on the same machine map it and read it in place. Each task on another machine
// that needs it has a mirror: its own memory with the same layout, into which the writer puts the bytes to be seen.
//
// Each part of a mirror holds the bytes of its last Post::show. Messages sent after a show arrive after it, so the
// places named in messages are valid on every machine.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <dlhost/transport.h>

namespace dlhost::param {

// A piece of memory, or its mirror, on another machine: the seat that reaches it, and its key.
struct RemoteCopy {
  std::uint32_t seat = 0;
  std::string key;
  std::uint32_t number = 0; // the number that its owner gave it (Post::know)
  bool shared = false;      // other seats of that machine read it too
};

// Memory that this task makes for others to see.
class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(std::unique_ptr<Region> near, std::unique_ptr<Region> far)
      : near_(std::move(near)), far_(std::move(far)) {}

  bool made() const { return near_ || far_; }
  std::span<std::byte> bytes() const { return (near_ ? near_ : far_)->bytes(); }
  // Keys for the others: to map it on this machine, to put into it from others. Empty: there are no such others.
  std::string near_key() const { return near_ ? near_->key() : std::string(); }
  std::string far_key() const { return far_ ? far_->key() : std::string(); }

 private:
  std::unique_ptr<Region> near_;
  std::unique_ptr<Region> far_; // registered within near_, so it is destroyed first
};

} // namespace dlhost::param
