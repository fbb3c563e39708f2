// A message between workers, the same on every transport: the attempt of the run, a sequence number, and a body
// (table_messages.h, run_messages.h). It is one cache line. Bytes that belong to it are in the sender's shared memory,
// where its body says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <variant>

#include <dlhost/message.h>
#include <dlhost/status.h>

#include "param/message/run_messages.h"
#include "param/message/table_messages.h"

namespace dlhost::param {

// By receiver.
using Body = std::variant<ToServer, ToChooser, ToNeighbour, ToClient, ToWorker>;

struct Message {
  std::uint16_t sequence = 0; // number among the messages of its sender to its receiver
  std::uint32_t epoch = 0;    // the attempt of the run
  Body body;
};

inline constexpr std::size_t message_bytes = 64;

inline constexpr std::uint32_t leading_seat = 0; // of the run's leader

// Calls the function for the type that is in a variant: in a body `ToServer` and its like, in those a type of message.
template <class OneOf, class... Functions>
decltype(auto) dispatch(const OneOf& message, const Functions&... functions) {
  struct ByType : Functions... {
    explicit ByType(const Functions&... each) : Functions(each)... {}
    using Functions::operator()...;
  };
  return std::visit(ByType(functions...), message);
}

// Calls `act` with the message that a body holds.
template <class Act> decltype(auto) visit_message(const Body& body, const Act& act) {
  return std::visit([&](const auto& to_one) -> decltype(auto) { return std::visit(act, to_one); }, body);
}

// The message that a body holds, if it is of this type; else null.
template <class Type> const Type* find_message(const Body& body) {
  return visit_message(body, [](const auto& message) -> const Type* {
    if constexpr (std::is_same_v<decltype(message), const Type&>)
      return &message;
    else
      return nullptr;
  });
}

// The workers of one server group: consecutive groups of workers.
struct Clients {
  std::uint32_t first = 0, groups = 1, workers = 1; // first group, number of groups, workers of each group
  std::size_t contributors() const { return std::size_t{groups} * workers; }
  std::size_t first_contributor() const { return std::size_t{first} * workers; } // among the workers of the run
  // True if the seat may send `Leave` for this group: the run's leader, and the group's.
  bool is_led_by(std::uint32_t seat, std::uint32_t group) const {
    return seat == leading_seat || seat == group * workers;
  }
};

// The index of a worker that a message names, among the clients: group by group, rank by rank.
// Errors: corrupt if the worker is none of the clients, because messages are untrusted.
Result<std::size_t> contributor(WorkerId, const Clients&);

// The slice of a message that may overtake messages about other slices, but no others. None: it overtakes none.
std::optional<SliceId> slice_of(const Body&);

// Writes the form in which a message travels.
void write(const Message&, std::span<std::byte, message_bytes>);
// Checks the length, the receiver, the type and the kind of contribution. The receiver of the message checks everything
// else.
Result<Message> read_message(std::span<const std::byte>);

} // namespace dlhost::param
