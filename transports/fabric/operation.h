// An unfinished operation of the provider, which identifies it by its address.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include <rdma/fabric.h>

#include <dlhost/transport.h>

namespace dlhost::plugins::fabric {

struct Operation {
  fi_context2 context{}; // first: the provider returns its address
  enum class Kind : std::uint8_t { send, receive, put, get } kind = Kind::send;
  bool done = false, orphan = false; // orphan: its result is not reported
  PeerId peer = 0;
  std::uint64_t tag = 0, cookie = 0;
  std::byte* bytes = nullptr;
  std::size_t size = 0;
  std::uint64_t remote = 0, key = 0; // for a put or a get
};

// A pool of operations with stable addresses.
class Operations {
 public:
  Operation* make(const Operation& like) {
    if (free_.empty()) free_.push_back(&all_.emplace_back());
    Operation* made = free_.back();
    free_.pop_back();
    *made = like;
    return made;
  }
  void give_back(Operation* operation) { free_.push_back(operation); }

 private:
  std::deque<Operation> all_;
  std::vector<Operation*> free_;
};

} // namespace dlhost::plugins::fabric
