#include "words.h"

namespace dlhost::plugins::rendezvous {
namespace {

void append(std::string& to, std::uint32_t number) {
  for (int i = 0; i < 4; ++i) to += static_cast<char>(number >> (8 * i) & 0xFF);
}
void append(std::string& to, std::string_view text) {
  append(to, static_cast<std::uint32_t>(text.size()));
  to += text;
}
void append(std::string& to, const Member& member) {
  append(to, member.rank);
  append(to, member.since);
  append(to, member.address);
  append(to, member.host);
}

// Reads from the front; after a read beyond the end, all results are empty.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  std::string_view take(std::size_t size) {
    if (size > left_.size()) good_ = false;
    if (!good_) return {};
    const auto part = left_.substr(0, size);
    left_.remove_prefix(size);
    return part;
  }
  std::uint32_t number() {
    std::uint32_t value = 0;
    for (int i = 0; const char byte : take(4)) value |= std::uint32_t{static_cast<unsigned char>(byte)} << (8 * i++);
    return value;
  }
  std::uint8_t byte() {
    const auto one = take(1);
    return one.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(one[0]);
  }
  std::string text(std::size_t longest) {
    const std::uint32_t size = number();
    if (size > longest) good_ = false;
    return std::string(take(size));
  }
  Member member() {
    Member member;
    member.rank = number();
    member.since = number();
    member.address = text(Session::largest_value);
    member.host = text(largest_host);
    return member;
  }
  // A count of items with at least `each` bytes.
  std::uint32_t count(std::size_t each) {
    const std::uint32_t count = number();
    if (count > left_.size() / each) good_ = false;
    return good_ ? count : 0;
  }
  bool good() const { return good_; }
  bool at_end() const { return good_ && left_.empty(); }

 private:
  std::string_view left_;
  bool good_ = true;
};

constexpr std::size_t least_member = 16;

} // namespace

std::string encode(const Words& words) {
  std::string bytes;
  bytes += static_cast<char>(words.kind);
  bytes += static_cast<char>(words.code);
  append(bytes, words.number);
  append(bytes, words.rank);
  append(bytes, words.epoch);
  append(bytes, words.key);
  append(bytes, words.value);
  append(bytes, static_cast<std::uint32_t>(words.members.size()));
  for (const Member& member : words.members) append(bytes, member);
  append(bytes, static_cast<std::uint32_t>(words.departures.size()));
  for (const Departure& one : words.departures) {
    append(bytes, one.epoch);
    append(bytes, one.who);
    append(bytes, one.why);
  }
  return bytes;
}

Result<Words> decode(std::string_view bytes) {
  Reader reader(bytes);
  Words words;
  const std::uint8_t kind = reader.byte(), code = reader.byte();
  if (kind > static_cast<std::uint8_t>(Words::last_kind) || code > static_cast<std::uint8_t>(Code::internal))
    return Status::corrupt("it sends a message that is not of a rendezvous");
  words.kind = static_cast<Words::Kind>(kind);
  words.code = static_cast<Code>(code);
  words.number = reader.number();
  words.rank = reader.number();
  words.epoch = reader.number();
  words.key = reader.text(Session::largest_key);
  words.value = reader.text(Session::largest_value);
  for (std::uint32_t count = reader.count(least_member); count > 0 && reader.good(); --count)
    words.members.push_back(reader.member());
  for (std::uint32_t count = reader.count(least_member + 8); count > 0 && reader.good(); --count) {
    Departure one;
    one.epoch = reader.number();
    one.who = reader.member();
    one.why = reader.text(Session::largest_value);
    words.departures.push_back(std::move(one));
  }
  if (!reader.at_end()) return Status::corrupt("it sends a message with inconsistent lengths");
  return words;
}

} // namespace dlhost::plugins::rendezvous
