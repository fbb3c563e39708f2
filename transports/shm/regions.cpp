// Memory that peers share: made by one endpoint, mapped by others.
#include <algorithm>
#include <cctype>
#include <cstring>

#include "endpoint.h"

namespace dlhost::plugins::shm {

namespace {

class SegmentRegion final : public Region {
 public:
  SegmentRegion(Segment segment, std::string key, std::shared_ptr<Segment> inbox = {})
      : inbox_(std::move(inbox)), segment_(std::move(segment)), key_(std::move(key)) {}
  std::span<std::byte> bytes() override { return {static_cast<std::byte*>(segment_.data()), segment_.size()}; }
  std::string key() const override { return key_; }

 private:
  // Destroyed last: a region may outlive its endpoint, and its process may die before it.
  std::shared_ptr<Segment> inbox_;
  Segment segment_;
  std::string key_;
};

constexpr std::string_view key_begin = "mem";
constexpr std::size_t stay_mapped = 64;

// Keys are untrusted: only a region's key is accepted.
Status plain_key(std::string_view key) {
  const auto number = key.substr(std::min(key.size(), key_begin.size()));
  const bool good = key.starts_with(key_begin) && !number.empty() && number.size() < 10 &&
                    std::ranges::all_of(number, [](unsigned char c) { return std::isdigit(c); });
  return good ? Status() : Status::invalid("'", key, "' is not a region's key");
}

} // namespace

Result<std::unique_ptr<Region>> ShmEndpoint::allocate(std::size_t bytes) {
  const std::string key = concat(key_begin, regions_++);
  DLHOST_ASSIGN(auto segment, Segment::make(concat(own_, ".", key), std::max<std::size_t>(bytes, 1)));
  return std::unique_ptr<Region>(std::make_unique<SegmentRegion>(std::move(segment), key, inbox_));
}

Result<std::unique_ptr<Region>> ShmEndpoint::register_memory(std::span<std::byte>) {
  return Status::unsupported("shm reaches only memory that was made by allocate()");
}

Result<std::unique_ptr<Region>> ShmEndpoint::map(PeerId id, std::string_view key) {
  DLHOST_TRY(plain_key(key));
  DLHOST_ASSIGN(const Peer* of, peer(id));
  DLHOST_ASSIGN(auto segment, Segment::open(concat(of->owner(), ".", key)));
  return std::unique_ptr<Region>(std::make_unique<SegmentRegion>(std::move(segment), std::string(key)));
}

Result<std::span<std::byte>> ShmEndpoint::reach(PeerId id, std::string_view key, std::uint64_t offset,
                                                std::size_t bytes) {
  DLHOST_ASSIGN(const Peer* of, peer(id));
  auto found = std::ranges::find_if(reached_, [&](const Reached& one) { return one.peer == id && one.key == key; });
  if (found == reached_.end()) {
    DLHOST_TRY(plain_key(key));
    DLHOST_ASSIGN(auto segment, Segment::open(concat(of->owner(), ".", key)));
    if (reached_.size() == stay_mapped) reached_.erase(reached_.begin());
    reached_.push_back({id, std::string(key), std::move(segment)});
    found = reached_.end() - 1;
  }
  const std::size_t size = found->segment.size();
  if (offset > size || bytes > size - offset)
    return Status::invalid("bytes ", offset, " to ", offset + bytes, " of a region that has ", size);
  return std::span(static_cast<std::byte*>(found->segment.data()) + offset, bytes);
}

Status ShmEndpoint::put(PeerId id, std::span<const std::byte> from, std::string_view key, std::uint64_t offset,
                        std::uint64_t cookie) {
  DLHOST_ASSIGN(const auto to, reach(id, key, offset, from.size()));
  std::copy(from.begin(), from.end(), to.begin());
  complete({.kind = Completion::Kind::put, .peer = id, .cookie = cookie, .bytes = from.size()});
  return {};
}

Status ShmEndpoint::get(PeerId id, std::span<std::byte> into, std::string_view key, std::uint64_t offset,
                        std::uint64_t cookie) {
  DLHOST_ASSIGN(const auto from, reach(id, key, offset, into.size()));
  std::copy(from.begin(), from.end(), into.begin());
  complete({.kind = Completion::Kind::got, .peer = id, .cookie = cookie, .bytes = into.size()});
  return {};
}

} // namespace dlhost::plugins::shm
