// The messages of the parameter table, by receiver: a server, the chooser of whole steps, a server of the same slices
// in another group, a worker's client. docs/architecture.md has them as one table.
//
// `of_slice`: the message may overtake messages about other slices, but no others. `fields`: all fields, in the order
// in which they travel.
#pragma once

#include <cstdint>
#include <tuple>
#include <variant>

#include <dlhost/message.h>

namespace dlhost::param {

// A worker, as the servers that it contributes to name it.
struct WorkerId {
  std::uint16_t group = 0, rank = 0;
  bool operator==(const WorkerId&) const = default;
};

namespace to_server {

// A worker's contribution to a slice: a gradient, its factors, a difference.
struct Update {
  SliceId slice = 0;
  WorkerId worker;
  std::uint64_t step = 0;
  SampleRange samples;     // of the step
  Version based_on = 0;    // the worker computed with this version
  std::uint64_t place = 0; // an offset in the sender's memory
  double rate = 0;         // the learning rate
  ContributionKind kind = ContributionKind::dense;

  static constexpr bool of_slice = true;
  static constexpr std::tuple fields{&Update::slice,    &Update::worker, &Update::step, &Update::samples,
                                     &Update::based_on, &Update::place,  &Update::rate, &Update::kind};
  Identity identity(std::uint32_t epoch) const { return {epoch, worker.group, worker.rank, step, slice, samples}; }
};

// A worker asks for a slice. Answered by `Value` once the handler serves it. The worker reads the last value no more.
struct Get {
  SliceId slice = 0;
  WorkerId worker;
  std::uint64_t step = 0; // the worker's last
  Version at_least = 0;

  static constexpr bool of_slice = true;
  static constexpr std::tuple fields{&Get::slice, &Get::worker, &Get::step, &Get::at_least};
};

// A worker asks for a slice, without the handler. Answered by `Seen` once no update or exchange is pending.
struct Look {
  SliceId slice = 0;
  WorkerId worker;

  static constexpr bool of_slice = true;
  static constexpr std::tuple fields{&Look::slice, &Look::worker};
};

// Answered by `Settled` once no update is pending and the version exists.
struct Settle {
  SliceId slice = 0;
  WorkerId worker;
  Version at_least = 0;

  static constexpr bool of_slice = true;
  static constexpr std::tuple fields{&Settle::slice, &Settle::worker, &Settle::at_least};
};

// The chooser: this worker's contributions of the step are among those that make the version.
struct Chosen {
  WorkerId worker;
  std::uint64_t step = 0;
  Version version = 0;
  std::uint32_t count = 0; // contributions to each slice that make the version
  float rate_factor = 1;
  float weight = 1;

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&Chosen::worker, &Chosen::step,        &Chosen::version,
                                     &Chosen::count,  &Chosen::rate_factor, &Chosen::weight};
};

// The chooser: this worker's contributions of the step make no version.
struct Dropped {
  WorkerId worker;
  std::uint64_t step = 0;

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&Dropped::worker, &Dropped::step};
};

// The chooser: this worker's contributions of the step are added to the next version.
struct Folded {
  WorkerId worker;
  std::uint64_t step = 0;
  float weight = 1;

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&Folded::worker, &Folded::step, &Folded::weight};
};

// A server of the same group: the sum of squares of all its slices' gradients. Clipping needs the whole norm.
struct Norm {
  Version version = 0; // that is made next
  double squares = 0;

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&Norm::version, &Norm::squares};
};

// A server of the same group: one of the updater's sums over a slice. The updater needs it over the whole param.
struct Sum {
  SliceId slice = 0;
  std::uint32_t which = 0; // among the updater's
  Version version = 0;     // that is made next
  double value = 0;

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&Sum::slice, &Sum::which, &Sum::version, &Sum::value};
};

// The leader of the run or of the worker's group: the worker makes no more steps, and handlers stop counting it.
struct Leave {
  WorkerId worker;

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&Leave::worker};
};

// The run's leader or the chooser, while all workers pause: add folded contributions to the versions, with this weight
// if the chooser sends it, then exchange all slices, due or not. Answered by an `Aligned` for each slice.
struct Align {
  float weight = 0;
  std::uint64_t number = 0; // of this alignment, from 1 on; 0, of a chooser: the next one

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&Align::weight, &Align::number};
};

// The run's leader: another group has made this many exchanges of the slice. Answered by `Aligned`.
struct AlignThrough {
  SliceId slice = 0;
  std::uint64_t exchange = 0;

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&AlignThrough::slice, &AlignThrough::exchange};
};

// The run's leader. Answered by `Attested` once the ledger is on the disk.
struct Attest {
  static constexpr bool of_slice = false;
  static constexpr std::tuple<> fields{};
};

} // namespace to_server

// Of the group of its server (chooser.h).
namespace to_chooser {

// A worker has sent all updates of a step.
struct Whole {
  WorkerId worker;
  std::uint64_t step = 0;
  SampleRange samples;  // of the step
  Version based_on = 0; // the oldest version that the step computed with

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&Whole::worker, &Whole::step, &Whole::samples, &Whole::based_on};
  Identity identity(std::uint32_t epoch) const { return {epoch, worker.group, worker.rank, step, 0, samples}; }
};

// The leader of the run or of the worker's group: the worker makes no more steps.
struct Leave {
  WorkerId worker;

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&Leave::worker};
};

// The run's leader: fold in what waits for other groups, then send `Align`; or answer with an `Undecided` for each
// group.
struct Complete {
  static constexpr bool of_slice = false;
  static constexpr std::tuple<> fields{};
};

} // namespace to_chooser

// To a server of the same slices in another group (group_sync.h). Group 0 is the first.
namespace to_neighbour {

// An exchange of the slice has begun, and this is its turn, if slices share rows. To group 0: begin one, and name its
// turn.
struct Call {
  SliceId slice = 0;
  std::uint64_t exchange = 0;
  std::uint64_t turn = 0; // 0: none

  static constexpr bool of_slice = true;
  static constexpr std::tuple fields{&Call::slice, &Call::exchange, &Call::turn};
};

// A part of a slice's changes or gradient, or of a sum of those.
struct Part {
  SliceId slice = 0;
  std::uint16_t section = 0; // of the slice
  std::uint16_t joins = 0;   // gossip: the number of groups that have joined, as the sender knows it
  std::uint64_t exchange = 0;
  std::uint64_t round = 0; // of the exchange. Gossip: the number of the alignment whose last part this is, or 0
  SampleRange elements;    // of the slice
  std::uint64_t place = 0; // an offset in the sender's memory

  static constexpr bool of_slice = true;
  static constexpr std::tuple fields{&Part::slice, &Part::section,  &Part::joins, &Part::exchange,
                                     &Part::round, &Part::elements, &Part::place};
};

// The part has been read: its memory may be written again.
struct Taken {
  SliceId slice = 0;
  std::uint16_t section = 0;
  std::uint64_t exchange = 0;

  static constexpr bool of_slice = true;
  static constexpr std::tuple fields{&Taken::slice, &Taken::section, &Taken::exchange};
};

// To the first group that is not lost: write what a lost server group had learned of the slice to this place of the
// sender. Answered by `Recalled`.
struct Recall {
  SliceId slice = 0;
  std::uint16_t lost = 0;  // the server group
  std::uint64_t place = 0; // an offset in the sender's memory

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&Recall::slice, &Recall::lost, &Recall::place};
};

// It is written, up to this version of the lost group.
struct Recalled {
  SliceId slice = 0;
  std::uint16_t lost = 0;
  Version version = 0;

  static constexpr bool of_slice = false;
  static constexpr std::tuple fields{&Recalled::slice, &Recalled::lost, &Recalled::version};
};

} // namespace to_neighbour

// To a worker's client of the table. All come from a server.
namespace to_client {

// The slice's value, as the answer to `Get`.
struct Value {
  SliceId slice = 0;
  std::uint64_t place = 0;   // index among the masters' values
  std::uint64_t history = 0; // index among the masters' copies of histories
  Version version = 0;

  static constexpr bool of_slice = true;
  static constexpr std::tuple fields{&Value::slice, &Value::place, &Value::history, &Value::version};
};

// The slice's value, as the answer to `Look`.
struct Seen {
  SliceId slice = 0;
  std::uint64_t place = 0, history = 0; // as in Value
  Version version = 0;

  static constexpr bool of_slice = true;
  static constexpr std::tuple fields{&Seen::slice, &Seen::place, &Seen::history, &Seen::version};
};

// The worker may write the memory of its contributions to the slice again.
struct Settled {
  SliceId slice = 0;

  static constexpr bool of_slice = true;
  static constexpr std::tuple fields{&Settled::slice};
};

} // namespace to_client

using ToServer = std::variant<to_server::Update, to_server::Get, to_server::Look, to_server::Settle, to_server::Chosen,
                              to_server::Dropped, to_server::Folded, to_server::Norm, to_server::Sum, to_server::Leave,
                              to_server::Align, to_server::AlignThrough, to_server::Attest>;
using ToChooser = std::variant<to_chooser::Whole, to_chooser::Leave, to_chooser::Complete>;
using ToNeighbour = std::variant<to_neighbour::Call, to_neighbour::Part, to_neighbour::Taken, to_neighbour::Recall,
                                 to_neighbour::Recalled>;
using ToClient = std::variant<to_client::Value, to_client::Seen, to_client::Settled>;

} // namespace dlhost::param
