// The messages of the parameter table, the same on every transport; docs/architecture.md has them as one table.
//
//   sender   word      receiver   meaning
//   leader   put       all        the start values are in the table, or in a mirror of it: servers take them
//   worker   update    server     a contribution to a slice: a gradient, its factors, a difference
//   worker   get       server     answered by `value` once the handler serves it; the last value is free
//   worker   whole     chooser    all updates of a step are sent (if contributors are chosen for whole steps)
//   chooser  chosen    server     this contribution is one of those that make this version
//   chooser  dropped   server     this contribution makes no version
//   chooser  folded    server     this contribution is added to the next version, with this weight
//   server   norm      servers    the sum of squares of all its slices' gradients: clipping needs the whole norm
//   server   sums      servers    a sum over this slice; the updater needs it over the whole param
//   worker   look      server     answered by `seen` once no update or exchange is pending, without the handler
//   worker   settle    server     answered by `settled` once no update is pending and the version exists
//   leader   leave     server     a worker of this group makes no more steps: handlers stop counting it
//   server   value     worker     the answer to `get`: the version and the place of the slice's value
//   server   seen      worker     the answer to `look`: the version and the place of the slice's value
//   server   settled   worker     the answer to `settle`: the worker may write its memory again
//   leader   go        worker     make this step, at this rate
//   worker   done      leader     its part of the step is computed; its metrics' sums are in its memory
//   leader   free      leaders    groups may make steps by themselves, up to this one
//   leader   free      workers    held workers of its group continue
//   leader   hold      worker     make no more steps until this leader sends `free` or the next `go`
//   worker   idle      leader     the answer to `hold`: servers have its updates; it made this number of steps
//   leader   stop      worker     there are no more steps
//   server   call      neighbours an exchange of this slice has begun, and this is its turn, if slices share rows
//   server   call      group 0    asks the first group's server to begin an exchange and to name its turn
//   server   part      neighbour  a part of a slice's changes or gradient, or of a sum of those, is at this place
//   server   taken     neighbour  the part has been read: its memory may be written again
//   leader   complete  chooser    fold in what waits for other groups, then send `align`; or answer `undecided`
//   chooser  undecided leader     the handler does not fold: steps below this one are in a version, or dropped
//   leader   align     servers    add folded contributions to the version, then exchange all slices, due or not
//   leader   align     servers    with a version: exchange this slice, up to the exchange of that number
//   chooser  align     servers    as the leader's first, with the weight that the handler gives at a pause
//   server   aligned   leader     the slice is aligned: its version, its place, its number of exchanges
//   leader   attest    servers    answered by `attested` once the ledger is on the disk
//   server   attested  leader     the ledger is on the disk: its number of lines, and the digest at its end
//   any      lost      leader     the sender cannot reach this seat: its group is to be replaced
//   leader   join      all        this server group has new processes: connect to them by their new contacts
//   any      joined    leader     the sender is connected to them; from a server of the group: it has its values
//   server   recall    group 0    write what a lost group had learned of this slice to this place of the sender
//   server   recalled  server     it is written, up to this version
//   any      alive     all        the sender waits long; this reveals an earlier message of it that was lost
//   any      failed    all        the sender cannot continue, and its memory says why: stop waiting
//
// Neighbours are the servers of the same slices in other groups; group 0 is the server of the first group among them.
// A message is one cache line. Bytes that belong to it are in the sender's shared memory, at `place`.
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
  std::uint32_t epoch = 0; // the attempt of the run
  SliceId slice = 0;
  // The worker that a message is about. part, taken: `group` is the section of the slice; part: `rank` is the number of
  // groups that have joined. recall, recalled: `group` is the lost server group.
  std::uint16_t group = 0, rank = 0;
  // The step. part: the round of the exchange; value, seen: the index of the masters' copy of histories; aligned: the
  // number of exchanges; attested: the number of lines; call: the turn of the exchange, or 0; join, joined: the number
  // of the joining group; lost: that of the group's last join, as the sender knows it.
  std::uint64_t step = 0;
  // The samples of the step. chosen: `count` contributions make the version; part: the elements of the slice; aligned:
  // `first` is the number of alignments so far.
  SampleRange samples;
  // update: computed with this version; get, settle: the lowest that is enough; value, seen: the present version; norm,
  // sums: the version that is made next; call, part, taken: the number of the slice's exchange; align: the number of
  // the last exchange, 0: of all slices; attested: the digest.
  Version version = 0;
  // update, part, recall: an offset in the sender's memory; value, seen, aligned: the index among the masters' values;
  // sums: the index of the sum; lost: the seat.
  std::uint64_t place = 0;
  double rate = 0;  // update, go: the learning rate; chosen, folded, align: the weight; norm, sums: the value
  float factor = 1; // chosen: multiplies the rate

  Identity identity() const { return {epoch, group, rank, step, slice, samples}; }
};
static_assert(std::is_trivially_copyable_v<Message>);

inline constexpr std::size_t message_bytes = 64;

inline constexpr std::uint32_t leading_seat = 0; // of the run's leader

// The workers of one server group: consecutive groups of workers.
struct Clients {
  std::uint32_t first = 0, groups = 1, workers = 1; // first group, number of groups, workers of each group
  std::size_t contributors() const { return std::size_t{groups} * workers; }
  std::size_t first_contributor() const { return std::size_t{first} * workers; } // among the workers of the run
  // True if the seat may send `leave` for this group: the run's leader, and the group's.
  bool is_led_by(std::uint32_t seat, std::uint32_t group) const {
    return seat == leading_seat || seat == group * workers;
  }
};

// The index of the worker that a message names, among the clients: group by group, rank by rank.
// Errors: corrupt if the worker is none of the clients, because messages are untrusted.
Result<std::size_t> contributor(const Message&, const Clients&);

// True if the message is about one slice: it may overtake messages about other slices, but no others.
bool is_of_slice(Word);

// Writes the form in which a message travels.
void write(const Message&, std::span<std::byte, message_bytes>);
// Checks the length, the word and the kind of contribution. The receiver of the message checks everything else.
Result<Message> read_message(std::span<const std::byte>);

} // namespace dlhost::param
