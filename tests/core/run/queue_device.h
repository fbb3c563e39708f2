// A far device for tests of stream waits. Its streams are queues that are late (run when waited for) or eager (run as
// soon as possible), so that a missing wait gives wrong data in every run. It counts objects that are destroyed too
// early. It computes nothing. Thread: one task.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <vector>

#include <dlhost/device.h>

namespace dlhost::run {

class QueueDevice final : public Device {
 public:
  enum class Pace { late, eager };
  Pace pace = Pace::late; // of new streams
  int copies = 0;         // from the host, completed
  int faults = 0;         // memory released before its use, streams destroyed with pending work
  bool pins = true;       // has pinned host memory
  int pinned = 0;         // unreleased blocks of it

  Traits traits() const override { return {.host_memory = false, .asynchronous = true}; }
  std::string description() const override { return "queues"; }
  Result<void*> allocate(std::size_t bytes) override {
    void* made = ::operator new (bytes, std::align_val_t{64});
    std::memset(made, 0xff, bytes);
    sizes_[made] = bytes;
    return made;
  }
  void release(void* memory) noexcept override {
    abandon(memory, sizes_[memory]);
    ::operator delete (memory, std::align_val_t{64});
  }
  Result<void*> allocate_host(std::size_t bytes) override {
    if (!pins) return Status::no_space("no more of it");
    ++pinned;
    DLHOST_ASSIGN(void* made, Device::allocate_host(bytes));
    sizes_[made] = bytes;
    return made;
  }
  void release_host(void* memory) noexcept override {
    --pinned;
    abandon(memory, sizes_[memory]);
    Device::release_host(memory);
  }
  Result<std::unique_ptr<Stream>> stream() override { return std::unique_ptr<Stream>(new Queue(*this, pace)); }
  Result<std::unique_ptr<Event>> event() override { return std::unique_ptr<Event>(new Mark); }
  Status copy(Stream& stream, void* dst, const void* src, std::size_t bytes, Direction direction) override {
    static_cast<Queue&>(stream).add({dst, src, bytes, direction == Direction::from_host});
    return {};
  }
  Status fill_zero(Stream&, void*, std::size_t) override { return unable(); }
  std::size_t bytes(const TensorDesc& desc) const override { return desc.plain_bytes(); }
  std::string format_name(const TensorDesc&) const override { return "plain"; }
  Result<Format> format_named(const TensorDesc&, const std::string&) override { return unable(); }
  Result<std::unique_ptr<Op>> prepare(const OpSpec&, const Choice&) override { return unable(); }

 private:
  class Queue;
  struct Mark final : Event {
    Queue* queue = nullptr; // null: never recorded
    std::uint64_t position = 0;
  };
  struct Work {
    void* dst = nullptr; // null: waits for another queue
    const void* src = nullptr;
    std::size_t bytes = 0;
    bool from_host = false;
    Queue* other = nullptr;
    std::uint64_t position = 0;
  };

  class Queue final : public Stream {
   public:
    Queue(QueueDevice& device, Pace pace) : device_(device), pace_(pace) { device_.queues_.push_back(this); }
    ~Queue() override {
      if (!left_.empty()) ++device_.faults;
      std::erase(device_.queues_, this);
    }
    Status wait() override {
      reach(done_ + left_.size());
      device_.stir();
      return {};
    }
    Status record(Event& event) override {
      static_cast<Mark&>(event).queue = this;
      static_cast<Mark&>(event).position = done_ + left_.size();
      return {};
    }
    Status wait_for(Event& event) override {
      const auto& mark = static_cast<Mark&>(event);
      if (mark.queue) add({.other = mark.queue, .position = mark.position});
      return {};
    }
    void submit(HostOp&, const HostCall&) override { ++device_.faults; }

    void add(const Work& work) {
      left_.push_back(work);
      device_.stir();
    }
    // Runs all work that waits for no other queue, if eager. Returns whether there was any.
    bool hurry() {
      bool any = false;
      for (; pace_ == Pace::eager && !left_.empty() && may_begin(left_.front()); any = true) do_next();
      return any;
    }
    bool uses(const std::byte* memory, std::size_t bytes) const {
      const auto meets = [&](const void* at, std::size_t size) {
        const auto* begin = static_cast<const std::byte*>(at);
        return begin && begin < memory + bytes && memory < begin + size;
      };
      return std::ranges::any_of(
          left_, [&](const Work& work) { return meets(work.dst, work.bytes) || meets(work.src, work.bytes); });
    }

   private:
    static bool may_begin(const Work& work) { return work.dst || work.other->done_ >= work.position; }
    void reach(std::uint64_t position) {
      while (done_ < position) do_next();
    }
    void do_next() {
      const Work work = left_.front();
      if (work.dst) {
        std::memcpy(work.dst, work.src, work.bytes);
        device_.copies += work.from_host ? 1 : 0;
      } else {
        work.other->reach(work.position);
      }
      left_.pop_front();
      ++done_;
    }

    QueueDevice& device_;
    Pace pace_;
    std::deque<Work> left_;
    std::uint64_t done_ = 0;
  };

  static Status unable() { return Status::unsupported("queues compute nothing"); }
  void stir() {
    while (std::ranges::any_of(queues_, &Queue::hurry)) {
    }
  }
  void abandon(void* memory, std::size_t bytes) noexcept {
    for (const Queue* queue : queues_)
      if (queue->uses(static_cast<std::byte*>(memory), bytes)) ++faults;
    sizes_.erase(memory);
  }

  std::vector<Queue*> queues_;
  std::map<void*, std::size_t> sizes_;
};

} // namespace dlhost::run
