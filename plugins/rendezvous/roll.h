// Who is in at an embedded rendezvous, in which epoch, what they have put and who leads what. Data and its rules; no
// connection, clock or lock.
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
  // All who are expected have been in at once; stays so.
  bool complete() const { return complete_; }
  // Since `epoch`.
  Membership membership(std::uint32_t epoch) const;
  bool has(std::uint32_t rank) const { return members_.contains(rank); }

  // Its rank, given where any will do. Each coming and each going begins an epoch. `expects`: how many it thinks are to
  // come, 0: it does not know.
  Result<std::uint32_t> join(Member, std::uint32_t expects);
  void go(std::uint32_t rank, std::string_view why);
  // Of the member that the reporter knew in its epoch: one that has come since is another. True: it was in.
  bool report(std::uint32_t by, std::uint32_t rank, std::uint32_t epoch, std::string_view why);

  Status put(std::uint32_t epoch, std::string_view key, std::string_view value);
  // Nothing: not yet.
  Result<std::optional<std::string>> get(std::uint32_t epoch, std::string_view key) const;
  bool lead(std::uint32_t rank, std::string_view what);

 private:
  void begin_epoch();
  Status current(std::uint32_t epoch) const;

  std::uint32_t expected_, epoch_ = 0;
  bool complete_ = false;
  std::map<std::uint32_t, Member> members_;
  std::deque<Departure> departures_; // the latest
  std::map<std::string, std::string, std::less<>> values_;
  std::size_t bytes_ = 0; // of values and their keys
  std::map<std::string, std::uint32_t, std::less<>> leaders_;
};

} // namespace dlhost::plugins::rendezvous
