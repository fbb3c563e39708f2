// The contacts of a run's workers. Before the run begins, each worker puts its own and takes the others'. Nothing here
// is used while they compute.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <dlhost/status.h>

#include "param/message/post.h"
#include "param/table/start_point.h"

namespace dlhost::run {

struct Contact {
  param::Post::Addresses addresses;
  // Keys of the worker's memory and of the masters that it made for its machine. `far_`: for workers of other machines;
  // of masters by server group.
  std::string own, masters;
  std::string far_own;
  std::vector<std::string> far_masters;
  int process = 0;
  std::size_t bytes = 0;                      // of its memory, without the rows that only its server has
  std::vector<std::string> mirrors;           // keys of its mirrors of other machines' workers, by worker
  std::map<std::string, std::string> formats; // the first worker's formats of masters, by param
  std::string convened;                       // the first worker's device's key, if devices sum gradients
};

// An answer of a worker that goes on to a new leader (run/recovery/rejoining.h).
struct Survival {
  param::StartPoint left;           // the steps of all workers, and what the lost groups below had learned
  std::vector<std::uint32_t> seen;  // server groups whose memory this worker sees, or saw until they were lost
  std::vector<std::uint32_t> lost;  // of these
  std::vector<std::uint64_t> joins; // of each server group, the number of the processes that it has now
  std::uint64_t times_aligned = 0;  // of the run, so far
  Nanoseconds lost_at = 0;          // by the machine's clock: when it had lost the leader
  std::uint64_t steps_before = 0;   // of this worker, at that time
  bool rests = false;               // it stands still until a leader frees it
};

// Lets in new processes of a server group that was lost, while the other groups go on (run/recovery/replacing.h). Each
// such group has a number, from 1 on. If the first group is lost, with the leader, its new processes let themselves in
// (run/recovery/rejoining.h).
class Admissions {
 public:
  virtual ~Admissions() = default;
  // The run's leader: these workers will put new contacts.
  virtual Status invite(std::span<const std::uint32_t> workers) = 0;
  // The worker has put its new contact.
  virtual bool has_come(std::uint32_t worker) = 0;
  // All workers that went on reach the new processes.
  virtual Status admit(const param::Joining&) = 0;
  // The run's leader: the number of the next group of new processes.
  virtual Result<std::uint32_t> take_number() = 0;
  // The number of this process's group; 0: it began with the run.
  virtual std::uint32_t number() const = 0;
  // Waits until this process's group is admitted.
  virtual Result<param::Joining> admitted() = 0;

  // A new leader, of a group with a number: the contacts of all its workers are there.
  virtual Status lead() = 0;
  // The answer of a worker that goes on; empty: there is none yet. It answers again if more groups are lost.
  virtual Result<std::optional<Survival>> survival(std::uint32_t worker) = 0;
  // A worker that goes on: the number of the group whose leader leads now; 0: the first leader.
  virtual Result<std::uint32_t> leads_now() = 0;
  virtual Status survive(std::uint32_t number, std::uint32_t worker, const Survival&) = 0;
  // Whether a process leads the run, or prepares to. Errors: all groups begin anew.
  virtual Result<bool> is_led() = 0;
  // From now on the process that leads the run counts as this worker's leader.
  virtual void follow() = 0;
};

// A call that waits returns when it has what it waits for. Errors: the reason why another worker failed meanwhile.
class AddressBook {
 public:
  virtual ~AddressBook() = default;
  // Of each worker.
  virtual const std::vector<std::uint32_t>& machines() const = 0;
  // Proves on a network that a process belongs to the run; empty: the workers are tasks of one process.
  virtual std::span<const std::byte> secret() const = 0;
  bool is_of_processes() const { return !secret().empty(); }
  // The number of the run's attempt, the same for all workers. Workers of an earlier attempt may still run.
  virtual std::uint32_t epoch() const = 0;
  // The name of this worker's machine; empty: there is one.
  virtual std::string host_name() const = 0;
  std::uint32_t workers() const { return static_cast<std::uint32_t>(machines().size()); }
  virtual Status put(std::uint32_t worker, Contact) = 0;
  // Waits until the worker has put its contact.
  virtual Result<Contact> contact(std::uint32_t worker) = 0;
  // Null: processes are not replaced while others go on.
  virtual Admissions* admissions() { return nullptr; }
  // The leader tells where all begin; begun() waits for that.
  virtual Status begin(const param::StartPoint&) = 0;
  virtual Result<param::StartPoint> begun() = 0;
  // Waits until all workers have called it as often as this one. `meanwhile`: called again and again; if it fails, the
  // wait ends with that error.
  using Meanwhile = std::function<Status()>;
  virtual Status meet(std::uint32_t worker, const Meanwhile&) = 0;
  Status meet(std::uint32_t worker) {
    return meet(worker, [] { return Status(); });
  }
  // Ends a worker that hangs, as if it had died, if it can be ended.
  virtual void end(std::uint32_t worker) = 0;
  // Ends all waits with this reason. The first reason counts.
  virtual void fail(const Status&) = 0;
  // That reason; ok: there is none.
  virtual Status failure() = 0;
};

} // namespace dlhost::run
