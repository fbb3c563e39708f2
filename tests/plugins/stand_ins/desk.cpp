// A transport inside of one process: endpoints pass messages over a desk. For the conformance suite of transports.
#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include <dlhost/plugin.h>
#include <dlhost/transport.h>

namespace {
using namespace dlhost;

constexpr std::size_t largest = 1 << 18;
constexpr std::size_t deepest = 8; // messages that may wait for a receiver

struct Box {
  struct Message {
    std::uint64_t tag;
    std::vector<std::byte> bytes;
  };
  std::deque<Message> messages;
  std::unique_ptr<Waiter> waiter;
  bool open = true;
};

struct Desk {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Box>, std::less<>> boxes;
  int named = 0;
};
Desk desk;

class Seat final : public Endpoint {
 public:
  Seat(Host& host, std::string_view name) : box_(std::make_shared<Box>()) {
    box_->waiter = host.tasks().waiter();
    const std::lock_guard lock(desk.mutex);
    address_ = concat("desk:", name, ":", ++desk.named);
    desk.boxes.emplace(address_, box_);
  }
  ~Seat() override {
    {
      const std::lock_guard lock(desk.mutex);
      box_->open = false;
      desk.boxes.erase(address_);
    }
    for (const auto& peer : peers_) peer->waiter->notify_all();
  }

  std::string address() const override { return address_; }
  Result<PeerId> connect(std::string_view address) override {
    const std::lock_guard lock(desk.mutex);
    const auto found = desk.boxes.find(address);
    if (found == desk.boxes.end()) return Status::not_found("nobody sits at '", address, "'");
    peers_.push_back(found->second);
    told_.push_back(false);
    return static_cast<PeerId>(peers_.size() - 1);
  }
  void disconnect(PeerId peer) override { told_.at(peer) = true; }

  Status post_send(PeerId peer, std::uint64_t tag, std::span<const std::byte> bytes, std::uint64_t cookie) override {
    if (bytes.size() > largest) return Status::invalid(bytes.size(), " bytes, but at most ", largest, " go at once");
    Box& box = *peers_.at(peer);
    const std::lock_guard lock(desk.mutex);
    if (!box.open) return Status::gone("the peer has left");
    if (box.messages.size() == deepest) return Status::timeout("the peer's box is full");
    box.messages.push_back({tag, {bytes.begin(), bytes.end()}});
    done_.push_back({Completion::Kind::sent, peer, cookie, tag, bytes.size()});
    box.waiter->notify_all();
    return {};
  }
  Status post_recv(std::span<std::byte> bytes, std::uint64_t cookie) override {
    rooms_.push_back({bytes, cookie});
    return {};
  }
  Result<std::unique_ptr<Region>> register_memory(std::span<std::byte>) override { return cannot(); }
  Status put(PeerId, std::span<const std::byte>, std::string_view, std::uint64_t, std::uint64_t) override {
    return cannot();
  }
  Status get(PeerId, std::span<std::byte>, std::string_view, std::uint64_t, std::uint64_t) override { return cannot(); }
  Result<std::unique_ptr<Region>> map(PeerId, std::string_view) override { return cannot(); }

  Result<std::size_t> progress(std::span<Completion> out, Nanoseconds limit) override {
    const std::uint64_t ticket = box_->waiter->ticket();
    if (std::size_t count = take(out)) return count;
    box_->waiter->wait(ticket, limit);
    return take(out);
  }
  void wake() override { box_->waiter->notify_all(); }

 private:
  static Status cannot() { return Status::unsupported("a desk carries messages only"); }

  std::size_t take(std::span<Completion> out) {
    const std::lock_guard lock(desk.mutex);
    while (!rooms_.empty() && !box_->messages.empty()) {
      const auto& message = box_->messages.front();
      std::memcpy(rooms_.front().bytes.data(), message.bytes.data(),
                  std::min(rooms_.front().bytes.size(), message.bytes.size()));
      done_.push_back({Completion::Kind::received, 0, rooms_.front().cookie, message.tag, message.bytes.size()});
      box_->messages.pop_front();
      rooms_.pop_front();
    }
    for (PeerId peer = 0; peer < peers_.size(); ++peer)
      if (!peers_[peer]->open && !told_[peer]) {
        told_[peer] = true;
        done_.push_back({.kind = Completion::Kind::gone, .peer = peer});
      }
    const std::size_t count = std::min(out.size(), done_.size());
    std::copy_n(done_.begin(), count, out.begin());
    done_.erase(done_.begin(), done_.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }

  struct Room {
    std::span<std::byte> bytes;
    std::uint64_t cookie;
  };
  std::shared_ptr<Box> box_;
  std::string address_;
  std::vector<std::shared_ptr<Box>> peers_;
  std::vector<bool> told_;
  std::deque<Room> rooms_;
  std::deque<Completion> done_;
};

class DeskTransport final : public Transport {
 public:
  static constexpr std::string_view name = "desk";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("Messages inside of one process."); }
  explicit DeskTransport(Options) {}

  Capabilities capabilities() const override { return {.reports_gone = true, .largest_message = largest}; }
  Result<std::unique_ptr<Endpoint>> open(Host& host, std::string_view who) override {
    return std::unique_ptr<Endpoint>(std::make_unique<Seat>(host, who));
  }
};

} // namespace

DLHOST_PLUGIN("1.0", DeskTransport);
