// Where the workers of a run meet before they begin: each puts its card there, and takes the others'. Nothing of it is
// used while they compute.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <dlhost/status.h>

#include "param/message/post.h"
#include "param/table/start_point.h"

namespace dlhost::run {

struct Contact {
  param::Post::Addresses addresses;
  // Keys of its memory, and of that of the table where it made that for its machine: for those of its machine, and for
  // those of others; of the table's, by server group.
  std::string own, masters;
  std::string far_own;
  std::vector<std::string> far_masters;
  int process = 0;
  std::size_t bytes = 0;                      // of its memory, but for what only its server has
  std::vector<std::string> mirrors;           // of the memory of seats of other machines, by seat
  std::map<std::string, std::string> formats; // of the masters, by name: the first worker's
  std::string convened;                       // by the first worker's device, where devices sum gradients
};

// Where processes of a server group that take the place of others are let in, while all the others go on
// (core/run/recovery/replacing.h). Each such group has a number, from 1 on.
class Admissions {
 public:
  virtual ~Admissions() = default;
  // Of the run's leader: the cards of those seats are to be put anew.
  virtual Status invite(std::span<const std::uint32_t> seats) = 0;
  // It is there.
  virtual bool has_come(std::uint32_t seat) = 0;
  // All that go on reach them.
  virtual Status admit(const param::Joining&) = 0;
  // Of a process of such a group, whose number this is; else 0.
  virtual std::uint32_t number() const = 0;
  // Until it is admitted.
  virtual Result<param::Joining> admitted() = 0;
};

// Each wait ends when what it waits for is there, or, with the reason, when one of them failed.
class AddressBook {
 public:
  virtual ~AddressBook() = default;
  // Of each seat.
  virtual const std::vector<std::uint32_t>& machines() const = 0;
  // By which they know one another on a network; empty: they are tasks of one process.
  virtual std::span<const std::byte> secret() const = 0;
  bool is_of_processes() const { return !secret().empty(); }
  // Which attempt of the run it is, where others of that secret may still be about; the same for all seats.
  virtual std::uint32_t epoch() const = 0;
  // What this one's machine is called; empty: there is one.
  virtual std::string host_name() const = 0;
  std::uint32_t seats() const { return static_cast<std::uint32_t>(machines().size()); }
  virtual Status put(std::uint32_t seat, Contact) = 0;
  virtual Result<Contact> contact(std::uint32_t seat) = 0;
  // Null: processes are not replaced while others go on.
  virtual Admissions* admissions() { return nullptr; }
  virtual Status begin(const param::StartPoint&) = 0;
  virtual Result<param::StartPoint> begun() = 0;
  // Returns when all have come here as often as this one. `meanwhile` is called again and again; not ok: it waits no
  // more.
  using Meanwhile = std::function<Status()>;
  virtual Status meet(std::uint32_t seat, const Meanwhile&) = 0;
  Status meet(std::uint32_t seat) {
    return meet(seat, [] { return Status(); });
  }
  // Ends one that hangs, where it can be ended: as if it had died.
  virtual void end(std::uint32_t seat) = 0;
  // Who waits here waits no more; the first reason counts.
  virtual void fail(const Status&) = 0;
  // That reason; ok: there is none.
  virtual Status failure() = 0;
};

} // namespace dlhost::run
