// The state of an embedded rendezvous: members, epoch, stored values and leaders. Data and its rules, without
// connections, clock or lock.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <dlhost/rendezvous.h>

namespace dlhost::plugins::rendezvous {

class Roll {
 public:
  explicit Roll(std::uint32_t expected) : expected_(expected) {}

  std::uint32_t expected() const { return expected_; }
  std::uint32_t epoch() const { return epoch_; }
  // Whether all expected members have been present at once; stays true.
  bool complete() const { return complete_; }
  // With departures after `epoch`.
  Membership membership(std::uint32_t epoch) const;
  bool has(std::uint32_t rank) const { return members_.contains(rank); }

  // Returns the rank, chosen here for any_rank. Each join and departure starts an epoch. `expects`: the member's number
  // of expected members; 0: unknown.
  Result<std::uint32_t> join(Member, std::uint32_t expects);
  void go(std::uint32_t rank, std::string_view why);
  // Reports the member that the reporter knew in its epoch: a later one with the same rank is another. True: it was
  // present.
  bool report(std::uint32_t by, std::uint32_t rank, std::uint32_t epoch, std::string_view why);

  Status put(std::uint32_t epoch, std::string_view key, std::string_view value);
  // None: not yet put.
  Result<std::optional<std::string>> get(std::uint32_t epoch, std::string_view key) const;
  bool lead(std::uint32_t rank, std::string_view what);

 private:
  void begin_epoch();
  Status current(std::uint32_t epoch) const;

  std::uint32_t expected_, epoch_ = 0;
  bool complete_ = false;
  std::map<std::uint32_t, Member> members_;
  std::deque<Departure> departures_; // the latest ones
  std::map<std::string, std::string, std::less<>> values_;
  std::size_t bytes_ = 0; // of values and their keys
  std::map<std::string, std::uint32_t, std::less<>> leaders_;
};

} // namespace dlhost::plugins::rendezvous
