// The memory of all workers of a run, as one worker sees it. It maps the memory of the workers on its machine. Of the
// workers on other machines it has mirrors (param/message/remote_copy.h): a writer shows new bytes there before it
// sends the message about them. Beside these: the masters of the server groups.
//
// Thread: that of the worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "param/message/post.h"
#include "param/server/surviving_versions.h"
#include "param/table/table_memory.h"
#include "run/membership/address_book.h"
#include "run/memory/pinned.h"
#include "run/memory/vitals.h"
#include "run/memory/worker_layout.h"
#include "run/session/session.h"

namespace dlhost::run {

class RunMemory {
 public:
  // `sees_others`: this worker also sees the masters of server groups that do not serve it.
  RunMemory(Session&, const WorkerLayout&, std::uint32_t number, bool sees_others);
  ~RunMemory();

  // Computes places(). `lent`: bytes that each worker of a group lends the others. Requires: the store is laid out.
  void lay_out(std::vector<std::size_t> lent) {
    places_ = layout_.memory(session_.store());
    lent_ = std::move(lent);
  }
  // Takes the worker's own memory, and makes or maps its masters; lends both to the store. Adds the keys to the
  // contact, by which others see this memory. Requires: after lay_out(), and nothing is allocated.
  Status open(param::Post&, AddressBook&, Contact&);
  // Sees another worker's memory.
  Status see(std::uint32_t worker, const Contact&);
  // Memory of this process alone stands for that of a worker that was lost before this one came.
  Status stand_in_for(std::uint32_t worker);
  // Finds the mirrors that workers of other machines have of masters. Requires: see() of all.
  Status find_mirrors(AddressBook&);
  // All server groups begin with the first one's values; with its histories too, unless a checkpoint brought those of
  // each. Requires: this worker sees the masters of all.
  void spread_first_values(bool own_values);
  // Maps the masters of other server groups.
  Status see_masters_of(std::uint32_t server_group, AddressBook&);

  // Where things lie in each worker's memory.
  const WorkerMemory& places() const { return *places_; }
  std::span<std::byte> of(std::uint32_t worker) const { return all_[worker].bytes; }
  std::span<std::byte> own() const { return all_[number_].bytes; }
  Vitals& vitals(std::uint32_t worker) const;
  std::span<double> numbers(std::uint32_t worker) const;
  std::span<char> words(std::uint32_t worker) const;
  // Running state, by its place in the store.
  std::span<float> state_of(std::uint32_t worker, std::size_t place) const;
  std::span<std::byte> own_state(std::size_t place) const;
  // The host cannot reach the computing device's memory: running state is copied to where others see it.
  bool states_apart() const;
  // What outlives the server beside a worker; of a slice in a server group.
  std::span<std::byte> published(std::uint32_t worker) const;
  param::SurvivingVersions published_of(std::uint32_t server_group, const param::Slice&) const;

  param::Masters& masters() const;
  const param::Masters& masters_of(std::uint32_t server_group) const;
  // False: the group was lost before this worker came.
  bool sees_masters_of(std::uint32_t server_group) const;
  // This worker made the masters of its server group for its machine.
  bool made_masters() const { return masters_board_.made(); }

  // Memory that a worker lends others of its group. Requires: that worker is on this machine.
  std::span<std::byte> lent_by(std::uint32_t worker) const { return of(worker).subspan(lent_at(worker)); }

  // The part of this memory to show with a message to a worker; nothing if that worker sees this memory anyway.
  param::Post::Shown shown(std::uint32_t worker, std::size_t place, std::size_t bytes, record::Cargo) const;
  // The same of masters, to a machine. Errors: the machine has no mirror of them.
  Result<param::Post::Shown> shown_masters(std::uint32_t server_group, std::uint32_t machine,
                                           std::span<const std::byte> part, record::Cargo) const;
  Status show_masters(std::uint32_t server_group, std::uint32_t machine, std::span<const std::byte> part,
                      record::Cargo) const;
  // Shows a worker what this one has written into the mirror of that worker's memory.
  Status show_to_owner(std::uint32_t worker, std::span<const std::byte> part) const;
  // Shows all machines the masters, running state and, if `own_values`, workers' own values.
  Status show_all(bool own_values) const;

 private:
  class Lender; // of the masters, and of this worker's running state
  struct Seen {
    param::SharedMemory board;      // made by this worker: its own memory, or a mirror of another machine's worker
    std::unique_ptr<Region> region; // of a worker on this machine, mapped
    std::span<std::byte> bytes;
    // Of a worker on another machine: its mirror of this worker's memory, and its own memory.
    param::RemoteCopy there, origin;
  };
  struct OtherMasters {
    param::SharedMemory board; // a mirror, if no worker of this machine has them
    std::unique_ptr<Region> region;
    param::Masters masters;
  };
  struct RemoteMasters {
    std::uint32_t machine = 0;
    param::RemoteCopy there;
  };
  Status open_masters(AddressBook&, Contact&);
  Status make_mirrors(Contact&);
  void pin(std::span<std::byte> memory);
  std::size_t bytes_of(std::uint32_t worker) const; // without what it lends
  std::size_t lent_at(std::uint32_t worker) const { return (bytes_of(worker) + 63) / 64 * 64; }
  std::size_t lent_bytes(std::uint32_t worker) const {
    return lent_.empty() ? 0 : lent_[worker % map_.workers_of_group()];
  }
  bool is_far(std::uint32_t worker) const { return post_->is_far(worker); }
  // Mirrors have the numbers of the workers whose memory they copy; those of masters follow.
  std::uint32_t mirror_number(std::uint32_t server_group) const { return map_.workers() + server_group; }
  OtherMasters& other(std::uint32_t server_group) {
    return other_masters_[server_group - (server_group > own_group_ ? 1 : 0)];
  }

  Session& session_;
  const WorkerLayout& layout_;
  const plan::WorkerMap& map_;
  const std::uint32_t number_, own_group_;
  const bool sees_others_;
  param::Post* post_ = nullptr;
  std::optional<WorkerMemory> places_;
  std::vector<std::size_t> lent_; // by rank
  std::unique_ptr<Lender> lender_;
  param::SharedMemory masters_board_;       // of this worker's server group, if this worker made them for its machine
  std::unique_ptr<Region> masters_;         // else
  std::vector<Pinned> pinned_;              // of both: memory that a device copies
  std::vector<OtherMasters> other_masters_; // of the other server groups
  std::vector<Seen> all_;
  std::vector<std::vector<RemoteMasters>> remote_masters_; // of each server group
};

} // namespace dlhost::run
