// Where the endpoints of one process find each other: a box for each, into which others put what is for it. Any task
// may call; nothing here waits.
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

// Memory that a key stands for. What is mapped stays, whatever becomes of its maker.
struct Memory {
  std::unique_ptr<std::byte[]> made; // null: it was there already
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
  const std::unique_ptr<Waiter> changed; // its owner waits there
  std::mutex guard;                      // of what follows
  std::deque<Letter> letters;            // as they came
  std::deque<Completion> done;           // of its owner's
  std::map<std::string, std::shared_ptr<Memory>, std::less<>> memory;
  std::optional<Nanoseconds> closed; // when its owner ended
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
  std::uint64_t opened_ = 0; // since there was none
};

} // namespace dlhost::plugins::sim
