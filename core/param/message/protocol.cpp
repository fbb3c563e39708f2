#include "param/message/protocol.h"

#include <array>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

namespace dlhost::param {
namespace {

static_assert(std::endian::native == std::endian::little, "messages travel in the order of bytes that all hosts have");

// The header: the body's receiver and type, each by its index in its variant, and the two numbers.
constexpr std::size_t header_bytes = 8;

template <class Field> constexpr std::size_t travelling_bytes = sizeof(Field);
template <>
constexpr std::size_t travelling_bytes<SampleRange> = sizeof(SampleRange::first) + sizeof(SampleRange::count);

template <class Of, class... Field> constexpr std::size_t bytes_of_fields(const std::tuple<Field Of::*...>&) {
  return (std::size_t{0} + ... + travelling_bytes<Field>);
}
constexpr std::size_t bytes_of_fields(const std::tuple<>&) { return 0; }

// The number of a struct's members: of the values that it can be made of.
struct AnyValue {
  template <class Type> operator Type() const;
};
template <class Type, class... Value> constexpr std::size_t members() {
  if constexpr (requires { Type{Value()..., AnyValue()}; })
    return members<Type, Value..., AnyValue>();
  else
    return sizeof...(Value);
}

template <class... Type> constexpr bool list_all_fields(std::type_identity<std::variant<Type...>>) {
  return ((std::tuple_size_v<std::remove_const_t<decltype(Type::fields)>> == members<Type>()) && ...);
}
template <class... Type> constexpr bool fit(std::type_identity<std::variant<Type...>>) {
  return ((bytes_of_fields(Type::fields) <= message_bytes - header_bytes) && ...);
}
template <class... Variant> constexpr bool all_travel(std::type_identity<std::variant<Variant...>>) {
  return ((list_all_fields(std::type_identity<Variant>()) && fit(std::type_identity<Variant>())) && ...);
}
static_assert(all_travel(std::type_identity<Body>()), "each type of message lists all its fields, and fits");

class FieldWriter {
 public:
  explicit FieldWriter(std::byte* to) : to_(to) {}
  template <class Field> void operator()(const Field& field) {
    std::memcpy(std::exchange(to_, to_ + sizeof field), &field, sizeof field);
  }
  void operator()(const SampleRange& range) {
    (*this)(range.first);
    (*this)(range.count);
  }

 private:
  std::byte* to_;
};

class FieldReader {
 public:
  explicit FieldReader(const std::byte* from) : from_(from) {}
  template <class Field> void operator()(Field& field) {
    std::memcpy(&field, std::exchange(from_, from_ + sizeof field), sizeof field);
  }
  void operator()(SampleRange& range) {
    (*this)(range.first);
    (*this)(range.count);
  }

 private:
  const std::byte* from_;
};

// Calls `act` with each field of a message.
template <class Type, class Act> void each_field(Type& message, [[maybe_unused]] Act& act) {
  std::apply([&](auto... field) { (act(message.*field), ...); }, std::remove_const_t<Type>::fields);
}

// Sets `into` to an object of the type with this index. Returns false if there is none.
template <class Variant, class Make, std::size_t... Index>
bool make_alternative(std::size_t index, Variant& into, const Make& make, std::index_sequence<Index...>) {
  return ((index == Index && (make(into.template emplace<Index>()), true)) || ...);
}
template <class... Type, class Make>
bool make_alternative(std::size_t index, std::variant<Type...>& into, const Make& make) {
  return make_alternative(index, into, make, std::index_sequence_for<Type...>());
}

} // namespace

Result<std::size_t> contributor(WorkerId worker, const Clients& clients) {
  if (worker.group < clients.first || worker.group - clients.first >= clients.groups || worker.rank >= clients.workers)
    return Status::corrupt("a message of worker ", worker.rank, " of group ", worker.group,
                           ", which is none of those that are served here");
  return std::size_t{worker.group - clients.first} * clients.workers + worker.rank;
}

std::optional<SliceId> slice_of(const Body& body) {
  return visit_message(body, [](const auto& message) -> std::optional<SliceId> {
    if constexpr (std::remove_cvref_t<decltype(message)>::of_slice) return message.slice;
    return std::nullopt;
  });
}

void write(const Message& message, std::span<std::byte, message_bytes> out) {
  std::memset(out.data(), 0, out.size());
  FieldWriter put(out.data());
  put(static_cast<std::uint8_t>(message.body.index()));
  put(std::visit([](const auto& to_one) { return static_cast<std::uint8_t>(to_one.index()); }, message.body));
  put(message.sequence);
  put(message.epoch);
  visit_message(message.body, [&](const auto& one) { each_field(one, put); });
}

Result<Message> read_message(std::span<const std::byte> bytes) {
  if (bytes.size() != message_bytes)
    return Status::corrupt("a message of ", bytes.size(), " bytes; all have ", message_bytes);
  Message message;
  std::uint8_t receiver = 0, type = 0;
  FieldReader get(bytes.data());
  get(receiver);
  get(type);
  get(message.sequence);
  get(message.epoch);
  bool is_known = false;
  make_alternative(receiver, message.body, [&](auto& to_one) {
    is_known = make_alternative(type, to_one, [&](auto& one) { each_field(one, get); });
  });
  if (!is_known)
    return Status::corrupt("unknown message type ", static_cast<int>(type), " to receiver ", static_cast<int>(receiver),
                           ": run the same build on all hosts");
  if (const auto* update = find_message<to_server::Update>(message.body);
      update && update->kind > ContributionKind::encoded)
    return Status::corrupt("unknown kind of contribution ", static_cast<int>(update->kind),
                           ": run the same build on all hosts");
  return message;
}

} // namespace dlhost::param
