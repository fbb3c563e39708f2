// Memory that several tasks see. On one machine all map it, and read it where it lies. Each task of another machine
// that needs it has a mirror of it: memory of its own, laid out alike, into which whoever writes puts what is to be
// seen.
//
// A mirror is as the memory was when something was last shown; a message that is sent behind that arrives behind it
// (Post::show). So what messages say of places in memory is true on every machine.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <dlhost/transport.h>

namespace dlhost::param {

// Where a piece of memory lies, or a mirror of it, on another machine: who reaches it there, and by what.
struct RemoteCopy {
  std::uint32_t seat = 0;
  std::string key;
  std::uint32_t number = 0; // by which its maker knows it (Post::know)
  bool shared = false;      // others of that machine read it as well
};

// Memory that this task makes for others to see.
class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(std::unique_ptr<Region> near, std::unique_ptr<Region> far)
      : near_(std::move(near)), far_(std::move(far)) {}

  bool made() const { return near_ || far_; }
  std::span<std::byte> bytes() const { return (near_ ? near_ : far_)->bytes(); }
  // What others need: of this machine, to map it; of others, to put into it. Empty: there are none.
  std::string near_key() const { return near_ ? near_->key() : std::string(); }
  std::string far_key() const { return far_ ? far_->key() : std::string(); }

 private:
  std::unique_ptr<Region> near_;
  std::unique_ptr<Region> far_; // registered within it: gone first
};

} // namespace dlhost::param
