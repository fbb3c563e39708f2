#include "roll.h"

namespace dlhost::plugins::rendezvous {
namespace {

constexpr std::uint32_t most_members = 1U << 20;
constexpr std::size_t most_departures = 64;                // remembered departures
constexpr std::size_t most_bytes = std::size_t{256} << 20; // put in one epoch
constexpr std::size_t most_leaders = std::size_t{1} << 16;
constexpr std::size_t longest_why = 1000;

} // namespace

Membership Roll::membership(std::uint32_t epoch) const {
  Membership now{.epoch = epoch_, .members = {}, .departures = {}};
  for (const auto& [rank, member] : members_) now.members.push_back(member);
  for (const Departure& one : departures_)
    if (one.epoch > epoch) now.departures.push_back(one);
  return now;
}

void Roll::begin_epoch() {
  ++epoch_;
  values_.clear();
  bytes_ = 0;
  complete_ = complete_ || members_.size() >= expected_;
}

Result<std::uint32_t> Roll::join(Member who, std::uint32_t expects) {
  // If the founder did not know the number, the first member sets it.
  if (epoch_ == 0 && expected_ == 0) expected_ = expects;
  if (expects != 0 && expected_ != 0 && expects != expected_)
    return Status::invalid("it waits for ", expects, " members, and the founder of this place for ", expected_,
                           "; start all of them with one number");
  if (who.rank == any_rank)
    for (who.rank = 0; members_.contains(who.rank);) ++who.rank;
  if (who.rank >= most_members) return Status::invalid("there is no rank ", who.rank, "; they end at ", most_members);
  if (const auto other = members_.find(who.rank); other != members_.end())
    return Status::exists("rank ", who.rank, " is in already, from host '", other->second.host, "'");
  const std::uint32_t rank = who.rank;
  who.since = epoch_ + 1;
  members_.emplace(rank, std::move(who));
  begin_epoch();
  return rank;
}

void Roll::go(std::uint32_t rank, std::string_view why) {
  const auto who = members_.find(rank);
  if (who == members_.end()) return;
  departures_.push_back({epoch_ + 1, std::move(who->second), std::string(why.substr(0, longest_why))});
  if (departures_.size() > most_departures) departures_.pop_front();
  members_.erase(who);
  std::erase_if(leaders_, [&](const auto& leader) { return leader.second == rank; });
  begin_epoch();
}

bool Roll::report(std::uint32_t by, std::uint32_t rank, std::uint32_t epoch, std::string_view why) {
  const auto who = members_.find(rank);
  if (who == members_.end() || who->second.since > epoch) return false;
  go(rank, by == rank ? std::string(why) : concat("rank ", by, " reported it: ", why));
  return true;
}

Status Roll::current(std::uint32_t epoch) const {
  if (epoch == epoch_) return {};
  return Status::cancelled("epoch ", epoch, " is over: epoch ", epoch_, " has begun; look at the membership again");
}

Status Roll::put(std::uint32_t epoch, std::string_view key, std::string_view value) {
  DLHOST_TRY(current(epoch));
  if (bytes_ + key.size() + value.size() > most_bytes)
    return Status::no_space("the values of this epoch fill all of ", most_bytes >> 20, " MiB");
  if (!values_.emplace(key, value).second) return Status::exists("'", key, "' is written already in epoch ", epoch_);
  bytes_ += key.size() + value.size();
  return {};
}

Result<std::optional<std::string>> Roll::get(std::uint32_t epoch, std::string_view key) const {
  DLHOST_TRY(current(epoch));
  const auto value = values_.find(key);
  return value == values_.end() ? std::nullopt : std::optional(value->second);
}

bool Roll::lead(std::uint32_t rank, std::string_view what) {
  const auto leader = leaders_.find(what);
  if (leader != leaders_.end()) return leader->second == rank;
  if (leaders_.size() >= most_leaders || !members_.contains(rank)) return false;
  leaders_.emplace(what, rank);
  return true;
}

} // namespace dlhost::plugins::rendezvous
