// The words of the parameter table. They are the same on every transport; docs/architecture.md has them as one table.
//
//   sender   word      receiver   effect
//   leader   put       all        what all begin with is where it is read, here or in a mirror: servers replace what
//                                 they had, and tell their handlers
//   worker   update    server     a gradient, its factors or a difference: the handler holds, applies or drops it
//   worker   get       server     answered by `value` once the handler serves it
//   worker   whole     chooser    all of a step is sent (where contributors are chosen for whole steps)
//   chooser  chosen    server     one of those whose contributions make this version
//   chooser  dropped   server     this contribution makes none
//   chooser  folded    server     this one goes into the next version beside those that make it
//   server   norm      servers    of all its slices: what clips a version by the norm of all gradients
//   server   sums      servers    of one slice: what the updater needs of the whole param
//   worker   look      server     answered by `seen`, whatever the handler would say, once nothing is due
//   worker   settle    server     answered by `settled`: what this worker sent before has been dealt with, and that
//                                 version is there
//   leader   leave     server     this group makes no more steps: handlers count without that worker of it
//   server   value,    worker     the slice has this version, and is read where it lies
//            seen
//   server   settled   worker     so it is; its memory may be written again
//   leader   go        worker     the step may be made, at this rate
//   worker   done      leader     its part of the step is computed; its metrics' sums lie in its memory
//   leader   free      leaders,   their groups may make steps by themselves, up to this one; of these to their own:
//                      workers    whom they held may go on
//   leader   hold      worker     no further step; all that it sent is dealt with when it says idle; whoever held it
//                                 frees it, or lets it make the next step
//   worker   idle      leader     so it is, and so many steps are done
//   leader   stop      worker     there are no more steps
//   server   call      neighbours an exchange of this slice has begun: those that have not join it. Where exchanges
//                                 take turns, all others ask the first group's server for one, which says the turn
//   server   part      neighbour  what it learned of a slice since the last exchange, or what was made of such parts
//   server   taken     neighbour  a part has been read: its memory may be written again
//   leader   complete  chooser    what waits for others is folded in; then it says align to its servers. Where nothing
//                                 is folded, answered by `undecided`
//   chooser  undecided leader     of that group: steps below this one are in a version, or dropped
//   leader   align     servers    all slices are exchanged once more, whatever is due; what was folded goes into the
//   or chooser                    version that is there; of one slice: through this exchange, as others have had it
//   server   aligned   leader     so this slice is, at that version, and lies there; and how many exchanges it had
//   leader   attest    servers    what they have written down is on the disk when they have answered
//   server   attested  leader     so it is, in so many lines, with that digest at their end
//   anyone   lost      leader     that seat is out of this one's reach: its group is to be replaced
//   leader   join      all        that server group's processes are others, which have begun: they are reached as their
//                                 new cards say
//   anyone   joined    leader     so it is; of a server of such a group: its values are there
//   server   recall    first      what that server group had learned of this slice when it was lost is wanted at a
//                      group's    place in the sender's memory
//   server   recalled  server     it lies there, and that version had it
//   anyone   alive     all        who waits long says so: what was lost before it is missed by then
//   anyone   failed    all        this one cannot go on, and says why in its memory; nobody waits any more
//
// A message is one cache line. Bytes that belong to it lie in the sender's shared memory, at `place`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <dlhost/message.h>
#include <dlhost/status.h>

namespace dlhost::param {

enum class Word : std::uint8_t {
  put = 1,
  update,
  get,
  whole,
  chosen,
  dropped,
  folded,
  norm,
  sums,
  look,
  settle,
  leave,
  value,
  seen,
  settled,
  go,
  done,
  free,
  hold,
  idle,
  stop,
  call,
  part,
  taken,
  complete,
  undecided,
  align,
  aligned,
  attest,
  attested,
  lost,
  join,
  joined,
  recall,
  recalled,
  alive,
  failed
};

struct Message {
  Word word = Word::update;
  ContributionKind contribution = ContributionKind::dense;
  std::uint16_t seat = 0;  // the sender; in transit: the message's sequence number
  std::uint32_t epoch = 0; // which attempt of the run it is of
  SliceId slice = 0;
  std::uint16_t group = 0, rank = 0; // part, taken: the group is which section of the slice
  std::uint64_t step = 0; // part: the round of the exchange; value, seen: which copy of the masters' histories;
                          // aligned: how many exchanges there were; attested: lines; call: its turn, or 0; join,
                          // joined, lost: the number of the group that joins, or of the lost seat
  SampleRange samples;    // of the step; chosen: how many make the version; part: which elements of the slice;
                          // align, aligned: first: how many times all were aligned
  Version version = 0; // update: computed with; get, settle: at least; value: this one; norm, sums: to be made of it;
                       // call, part, taken: which exchange of the slice; align: through which, 0: of all slices;
                       // attested: their digest
  std::uint64_t place = 0; // update, part, recall: in the sender's memory; value, seen, aligned: which of the masters'
                           // values; sums: which; lost: the seat
  double rate = 0;  // update, go: the schedule's, of the step; chosen, folded, align: the weight; norm, sums: the value
  float factor = 1; // chosen: on the rate

  Identity identity() const { return {epoch, group, rank, step, slice, samples}; }
};
static_assert(std::is_trivially_copyable_v<Message>);

inline constexpr std::size_t message_bytes = 64;

inline constexpr std::uint32_t leading_seat = 0; // of the run

// Workers of groups that have the same servers.
struct Clients {
  std::uint32_t first = 0, groups = 1, workers = 1; // of each group
  std::size_t contributors() const { return std::size_t{groups} * workers; }
  std::size_t first_contributor() const { return std::size_t{first} * workers; } // among those of all servers
  // Who may say that a worker of a group makes no more steps.
  bool is_led_by(std::uint32_t seat, std::uint32_t group) const {
    return seat == leading_seat || seat == group * workers;
  }
};

// The place of the worker that a message names, among those: group by group, rank by rank. Messages come from other
// tasks, and one day from other hosts: whom they name has to be there.
Result<std::size_t> contributor(const Message&, const Clients&);

// It is about one slice: it may overtake what is about others, and nothing else.
bool is_of_slice(Word);

// As it travels.
void write(const Message&, std::span<std::byte, message_bytes>);
// Bytes come from outside: the length and the word are checked here, everything else by whoever acts on it.
Result<Message> read_message(std::span<const std::byte>);

} // namespace dlhost::param
