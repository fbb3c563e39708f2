// Boost.Interprocess' message queues, one for each direction: the obvious choice for messages in shared memory.
#include <unistd.h>

#include <algorithm>
#include <memory>

#include <boost/interprocess/ipc/message_queue.hpp>

#include "line.h"
#include "swept.h"

namespace dlhost::bench {

namespace {

namespace bip = boost::interprocess;

class QueueLine final : public Line {
 public:
  QueueLine(std::size_t largest, bool first) : first_(first) {
    if (!first) return; // the first side makes both
    name_ = queue_name(getpid());
    for (const char* way : {"-there", "-back"}) {
      bip::message_queue::remove((name_ + way).c_str());
      queues_[way[1] == 'b'] =
          std::make_unique<bip::message_queue>(bip::create_only, (name_ + way).c_str(), window, largest);
    }
  }
  ~QueueLine() override {
    if (!first_) return;
    for (const char* way : {"-there", "-back"}) bip::message_queue::remove((name_ + way).c_str());
  }
  std::string address() const override { return first_ ? name_ : "second"; }
  void connect(const std::string& address) override {
    if (first_) return;
    queues_[0] = std::make_unique<bip::message_queue>(bip::open_only, (address + "-there").c_str());
    queues_[1] = std::make_unique<bip::message_queue>(bip::open_only, (address + "-back").c_str());
  }
  void send(std::span<const std::span<const std::byte>> messages, std::size_t count) override {
    for (std::size_t i = 0; i < count; ++i)
      queues_[first_ ? 0 : 1]->send(messages[i % window].data(), messages[i % window].size(), 0);
  }
  void receive(std::span<const std::span<std::byte>> rooms, std::size_t count,
               const std::function<void(std::size_t, std::span<std::byte>)>& arrived) override {
    bip::message_queue& queue = *queues_[first_ ? 1 : 0];
    for (std::size_t i = 0; i < count; ++i) {
      bip::message_queue::size_type size = 0;
      unsigned priority = 0;
      // Its buffer must have room for the largest possible message, even for a small one.
      if (room_.size() < queue.get_max_msg_size()) room_.resize(queue.get_max_msg_size());
      const auto room = rooms[i % window];
      std::byte* into = room.size() >= room_.size() ? room.data() : room_.data();
      queue.receive(into, room_.size(), size, priority);
      if (into != room.data()) std::copy_n(into, size, room.data());
      arrived(i, room);
    }
  }

 private:
  bool first_;
  std::string name_;
  std::unique_ptr<bip::message_queue> queues_[2];
  std::vector<std::byte> room_;
};

} // namespace

std::unique_ptr<Line> make_queue_line(std::size_t largest, bool first) {
  return std::make_unique<QueueLine>(largest, first);
}

} // namespace dlhost::bench
