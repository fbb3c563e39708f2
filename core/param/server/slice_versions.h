// The versions of one slice that a server owns: where the newest one is among the masters' values, which older ones
// workers still read, which steps the newest one contains, and which machines have it.
//
// A new value goes to a place that no worker reads. There is one place more than there are readers.
//
// Owns: this bookkeeping, and the slice's records among the surviving versions. Borrows the masters. Thread: the
// server's. Does not allocate after it is made, except for names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <dlhost/message.h>
#include <dlhost/status.h>

#include "param/server/slice_contributors.h"
#include "param/server/surviving_versions.h"
#include "param/store/store.h"
#include "param/table/slices.h"
#include "param/table/table_memory.h"

namespace dlhost::param {

class SliceVersions {
 public:
  struct Setup {
    const Slice* slice = nullptr;
    const Param* param = nullptr;
    const Masters* masters = nullptr;
    const SliceContributors* contributors = nullptr;
    SurvivingVersions* surviving = nullptr; // null: nothing of the slice outlives this server
    bool each_outlives = false;             // every version does; else only published changes do
  };
  explicit SliceVersions(const Setup&);

  // Starts with the value at the first place. `steps`: of each contributor, the steps that it contains.
  void begin(Version, std::span<const std::uint64_t> steps);

  const Slice& slice() const { return *setup_.slice; }
  const Param& param() const { return *setup_.param; }
  const SliceContributors& contributors() const { return *setup_.contributors; }
  // The slice and one of its workers, in messages to people.
  std::string name_for(const Contributor&) const;

  Version newest() const { return version_; }
  std::size_t place() const { return place_; }     // of the newest value, among the masters' values
  std::size_t history() const { return history_; } // the copy of the histories that belongs to it
  float* value() const { return value(place_); }
  float* value(std::size_t place) const;
  // The part of one of the masters' rows that belongs to the slice.
  std::span<const std::byte> part_of(std::span<const std::byte> row) const;

  // A place for a new value. If there is only one, the newest value is there.
  // Errors: internal if all places are read.
  Result<std::size_t> room() const;
  std::size_t next_history() const { return (history_ + 1) % setup_.masters->copies().histories; }
  // A new value is at this place, with this copy of the histories. The version number stays.
  void moved(std::size_t place, std::size_t history);
  void moved(std::size_t place) { moved(place, history_); }
  // The new value is the next version.
  void advance() { ++version_; }

  // The worker reads the newest value from now on, or no value. Others than contributors read during pauses only.
  void pin(std::size_t contributor) {
    if (contributors().has(contributor)) read_[contributor] = place_;
  }
  void unpin(std::size_t contributor) { read_[contributor] = nothing; }
  // The machine receives the newest value. False: it has it already.
  bool show_to(std::size_t machine);

  // All steps of the contributor below this one are in the newest version, or dropped. Of a worker that does not
  // contribute to the slice: the steps of all that do in its group.
  std::uint64_t contains(std::size_t contributor) const { return contained_[contributor]; }
  void contain(std::size_t contributor, std::uint64_t steps);

  // From now on the newest version outlives this server, if each does. `heard`: the row with the changes of other
  // server groups that are in it.
  void publish(std::size_t heard);
  // From now on this server's own changes up to a version outlive it. `place`: in its worker's memory.
  void publish_changes(Version, std::uint64_t place);
  // Removes what is published.
  void unpublish();

 private:
  static constexpr std::size_t nothing = ~std::size_t{0};
  bool is_read(std::size_t place) const;
  void pin_all();

  const Setup setup_;
  Version version_ = 0;
  std::size_t place_ = 0, history_ = 0;
  std::vector<std::size_t> read_;        // per contributor: the place of the value that it reads; nothing: none
  std::uint64_t revision_ = 0;           // grows when the value changes
  std::vector<std::uint64_t> shown_;     // per machine: the revision that it has
  std::vector<std::uint64_t> contained_; // per contributor
};

} // namespace dlhost::param
