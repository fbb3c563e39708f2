// The messages of a run to a worker: orders of leaders, and reports to them. docs/architecture.md has them as one
// table, orders.h has who may send which.
//
// The leader is that of the run, or that of the worker's group. `fields` and `of_slice`: as in table_messages.h.
#pragma once

#include <cstdint>
#include <tuple>
#include <variant>

#include <dlhost/message.h>

namespace dlhost::param::to_worker {

// The start values are in the table, or in a mirror of it: servers take them.
struct Put {
  static constexpr bool of_slice = false;
  static constexpr std::tuple<> fields{};
};

// Make this step, at this learning rate.
struct Go {
  std::uint64_t step = 0;
  double rate = 0;

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&Go::step, &Go::rate};
};

// The worker has computed its part of the step, and its metrics' sums are in its memory.
struct Done {
  std::uint64_t step = 0;

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&Done::step};
};

// To the leader of a group: the group may make steps by itself, up to this one. To others: held workers continue.
struct Free {
  std::uint64_t until = 0;

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&Free::until};
};

// Make no more steps until this leader sends `Free` or the next `Go`. Answered by `Idle`.
struct Hold {
  static constexpr bool of_slice = false;
  static constexpr std::tuple<> fields{};
};

// The worker makes no steps, servers have its updates, and it made this many steps.
struct Idle {
  std::uint64_t steps = 0;

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&Idle::steps};
};

// There are no more steps.
struct Stop {
  static constexpr bool of_slice = false;
  static constexpr std::tuple<> fields{};
};

// A chooser whose handler does not fold: the group's steps below this one are in a version, or dropped.
struct Undecided {
  std::uint16_t group = 0;
  std::uint64_t first = 0; // undecided step

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&Undecided::group, &Undecided::first};
};

// A server: the slice is aligned.
struct Aligned {
  SliceId slice = 0;
  std::uint64_t place = 0; // index among the masters' values
  Version version = 0;
  std::uint64_t exchanges = 0;  // of the slice so far
  std::uint64_t alignments = 0; // of the run so far

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&Aligned::slice, &Aligned::place, &Aligned::version, &Aligned::exchanges,
                                     &Aligned::alignments};
};

// A server: its ledger is on the disk.
struct Attested {
  std::uint64_t lines = 0;
  std::uint64_t digest = 0; // at the ledger's end

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&Attested::lines, &Attested::digest};
};

// The sender cannot reach this worker: its group is to be replaced.
struct Lost {
  std::uint32_t worker = 0;
  std::uint64_t join = 0; // number of the group's last join, as the sender knows it

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&Lost::worker, &Lost::join};
};

// The run's leader: this server group has new processes. Connect to them by their new contacts. Answered by `Joined`.
struct Join {
  std::uint32_t server_group = 0;
  std::uint64_t number = 0; // of the new processes
  std::uint32_t order = 0;  // of their admission

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&Join::server_group, &Join::number, &Join::order};
};

// The sender is connected to the group's new processes. From a server of the group: it has its values.
struct Joined {
  std::uint64_t number = 0; // of the join

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&Joined::number};
};

// To another worker of the group: the sender's part of this transfer is in its memory (program/box_exchange.h).
struct Lent {
  std::uint32_t transfer = 0;
  std::uint64_t step = 0;

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&Lent::transfer, &Lent::step};
};

// The sender has read that part.
struct Returned {
  std::uint32_t transfer = 0;
  std::uint64_t step = 0;

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&Returned::transfer, &Returned::step};
};

// The sender waits long. This reveals an earlier message of it that was lost.
struct Alive {
  static constexpr bool of_slice = false;
  static constexpr std::tuple<> fields{};
};

// The sender cannot continue, and its memory says why: stop waiting.
struct Failed {
  std::uint32_t code = 0; // a Code

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&Failed::code};
};

} // namespace dlhost::param::to_worker

namespace dlhost::param {

using ToWorker = std::variant<to_worker::Put, to_worker::Go, to_worker::Done, to_worker::Free, to_worker::Hold,
                              to_worker::Idle, to_worker::Stop, to_worker::Undecided, to_worker::Aligned,
                              to_worker::Attested, to_worker::Lost, to_worker::Join, to_worker::Joined, to_worker::Lent,
                              to_worker::Returned, to_worker::Alive, to_worker::Failed>;

} // namespace dlhost::param
