#include "param/message/protocol.h"

#include <bit>
#include <cstring>

namespace dlhost::param {
namespace {

static_assert(std::endian::native == std::endian::little, "messages travel in the order of bytes that all hosts have");

// Every field at its place, in order; `Field` is called with each and its offset.
template <class Of, class Field> void fields(Of& message, Field field) {
  std::size_t at = 0;
  const auto next = [&](auto& value) {
    field(value, at);
    at += sizeof value;
  };
  next(message.word);
  next(message.contribution);
  next(message.seat);
  next(message.epoch);
  next(message.slice);
  next(message.group);
  next(message.rank);
  next(message.step);
  next(message.samples.first);
  next(message.version);
  next(message.place);
  next(message.rate);
  next(message.samples.count);
  next(message.factor);
}

} // namespace

Result<std::size_t> contributor(const Message& message, const Clients& clients) {
  if (message.group < clients.first || message.group - clients.first >= clients.groups ||
      message.rank >= clients.workers)
    return Status::corrupt("a message of worker ", message.rank, " of group ", message.group,
                           ", which is none of those that are served here");
  return std::size_t{message.group - clients.first} * clients.workers + message.rank;
}

bool is_of_slice(Word word) {
  switch (word) {
  case Word::update:
  case Word::get:
  case Word::look:
  case Word::settle:
  case Word::value:
  case Word::seen:
  case Word::settled:
  case Word::call:
  case Word::part:
  case Word::taken: return true;
  default: return false;
  }
}

void write(const Message& message, std::span<std::byte, message_bytes> out) {
  std::memset(out.data(), 0, out.size());
  fields(message, [&](const auto& value, std::size_t at) { std::memcpy(out.data() + at, &value, sizeof value); });
}

Result<Message> read_message(std::span<const std::byte> bytes) {
  if (bytes.size() != message_bytes)
    return Status::corrupt("a message of ", bytes.size(), " bytes; all have ", message_bytes);
  Message message;
  fields(message, [&](auto& value, std::size_t at) { std::memcpy(&value, bytes.data() + at, sizeof value); });
  if (message.word < Word::put || message.word > Word::failed)
    return Status::corrupt("a message of word ", static_cast<int>(message.word), ", which there is not");
  if (message.contribution > ContributionKind::encoded)
    return Status::corrupt("a contribution of kind ", static_cast<int>(message.contribution), ", which there is not");
  return message;
}

} // namespace dlhost::param
