// Connects the endpoints of one process: each has a box, into which other endpoints put letters. Thread: any; no call
// waits.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/transport.h>

namespace dlhost::plugins::sim {

// The memory of a key. A mapping stays valid after its maker's end.
struct Memory {
  std::unique_ptr<std::byte[]> made; // null: existing memory
  std::span<std::byte> bytes;
};

struct Box;

struct Letter {
  std::shared_ptr<Box> from;
  std::uint64_t tag = 0;
  std::vector<std::byte> bytes;
};

// An endpoint, as others see it.
struct Box {
  Box(std::string where, std::string called, std::unique_ptr<Waiter> waiter)
      : address(std::move(where)), name(std::move(called)), changed(std::move(waiter)) {}

  const std::string address, name;
  const std::unique_ptr<Waiter> changed; // its owner waits here
  std::mutex guard;                      // guards the members below
  std::deque<Letter> letters;            // in the order of arrival
  std::deque<Completion> done;           // its owner's completions
  std::map<std::string, std::shared_ptr<Memory>, std::less<>> memory;
  std::optional<Nanoseconds> closed; // the time of its owner's end
  bool woken = false;
};

class Hub {
 public:
  static Hub& of_this_process();

  std::shared_ptr<Box> open(std::string_view name, std::unique_ptr<Waiter>);
  std::shared_ptr<Box> find(std::string_view address);
  void close(Box&, Nanoseconds now);

 private:
  std::mutex guard_;
  std::map<std::string, std::shared_ptr<Box>, std::less<>> boxes_;
  std::uint64_t opened_ = 0; // since the last time there was none
};

} // namespace dlhost::plugins::sim
