// A member's background tasks: one renews its leases, the other applies the watch's events.
#include <algorithm>
#include <charconv>

#include "etcd_session.h"
#include "etcd_words.h"

namespace dlhost::plugins::rendezvous {
namespace {

constexpr std::size_t most_departures_kept = 64;

} // namespace

void EtcdSession::keep() {
  for (;;) {
    const auto ticket = ends_->ticket();
    {
      const std::scoped_lock lock(mutex_);
      if (leaves_ || !over_.ok()) return;
    }
    const Kept kept = keep_alive(lease_);
    if (kept == Kept::no) {
      wait_until(now() + one_second, [] { return false; }).ignore("the watch reports the reason, if it lasts");
      return is_over(out(lease_ended()));
    }
    if (kept == Kept::yes) keep_alive(job_lease_);
    ends_->wait(ticket, kept == Kept::yes ? between_beats() : look_every);
  }
}

// Without an answer from etcd the lease may still exist.
EtcdSession::Kept EtcdSession::keep_alive(std::int64_t lease) {
  const auto answer =
      gateway_.ask("lease/keepalive", {{"ID", std::to_string(lease)}}, now() + std::min(between_beats(), time_to_go));
  if (!answer.ok()) return Kept::nobody_says;
  const Json& result = field(*answer, "result");
  if (!result.is_object()) return Kept::nobody_says;
  return number_of(field(result, "TTL")) > 0 ? Kept::yes : Kept::no;
}

void EtcdSession::is_over(Status why) {
  const std::scoped_lock lock(mutex_);
  if (over_.ok()) over_ = std::move(why);
  changed_->notify_all();
}

void EtcdSession::take(const Json& changes) {
  if (number_of(field(changes, "compact_revision")) > 0) return look_again();
  const Json& events = field(changes, "events");
  const std::scoped_lock lock(mutex_);
  if (!events.is_array()) return; // the watch's first answer
  std::int64_t last = revision_;
  for (const Json& event : events) {
    take_one(event);
    last = std::max(last, number_of(field(field(event, "kv"), "mod_revision")));
  }
  revision_ = last; // an answer has all events of a revision; its header may be ahead of them
  changed_->notify_all();
}

// Requires: the lock held, here and below.
void EtcdSession::take_one(const Json& event) {
  const Json& kv = field(event, "kv");
  const std::int64_t revision = number_of(field(kv, "mod_revision"));
  if (revision <= revision_) return; // known already
  const std::string name = bytes_of(field(kv, "key"));
  if (!name.starts_with(prefix_)) return;
  const std::string_view rest = std::string_view(name).substr(prefix_.size());
  const bool deleted = field(event, "type") == "DELETE";
  if (rest.starts_with("gone/")) {
    if (!deleted) reasons_[std::string(rest.substr(5))] = bytes_of(field(kv, "value")).substr(0, most_reason);
  } else if (rest.starts_with("members/")) {
    std::uint32_t rank = any_rank;
    const std::string_view digits = rest.substr(8);
    std::from_chars(digits.data(), digits.data() + digits.size(), rank);
    if (deleted)
      went(rank, revision);
    else
      came(kv);
    begin_epoch(revision);
  }
}

void EtcdSession::came(const Json& kv) {
  const std::string name = bytes_of(field(kv, "key"));
  const std::string_view digits = std::string_view(name).substr(std::min(name.size(), key("members/").size()));
  std::uint32_t rank = any_rank;
  std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  if (rank >= most_ranks) return;
  const Json words = Json::parse(bytes_of(field(kv, "value")), nullptr, false);
  const std::int64_t created = number_of(field(kv, "create_revision"));
  members_[rank] = {.member = {.rank = rank,
                               .address = bytes_of(field(words, "address")).substr(0, largest_value),
                               .host = words_of(words, "host", 256),
                               .since = epoch_of(created)},
                    .id = words_of(words, "id", 64),
                    .created = created,
                    .lease = number_of(field(kv, "lease"))};
}

void EtcdSession::went(std::uint32_t rank, std::int64_t revision) {
  const auto who = members_.find(rank);
  if (who == members_.end()) return;
  const auto reason = reasons_.find(who->second.id);
  std::string why = lease_ended();
  if (reason != reasons_.end()) why = reason->second;
  if (who->second.id == id_ && over_.ok()) over_ = out(why);
  departures_.push_back({epoch_of(revision), std::move(who->second.member), std::move(why)});
  if (departures_.size() > most_departures_kept) departures_.erase(departures_.begin());
  if (reason != reasons_.end()) reasons_.erase(reason);
  members_.erase(who);
}

void EtcdSession::begin_epoch(std::int64_t revision) {
  epoch_ = epoch_of(revision);
  complete_ = complete_ || members_.size() >= expected_;
}

// etcd has compacted the missed events: reads the present members instead.
void EtcdSession::look_again() {
  const auto answer =
      gateway_.ask("kv/range", {{"key", base64(key("members/"))}, {"range_end", base64(after(key("members/")))}},
                   now() + time_to_ask);
  if (!answer.ok()) return; // the watch retries
  const std::scoped_lock lock(mutex_);
  std::map<std::uint32_t, Known> before;
  before.swap(members_);
  const Json& members = field(*answer, "kvs");
  if (members.is_array())
    for (const Json& kv : members) came(kv);
  const std::int64_t revision = revision_of(*answer);
  std::map<std::uint32_t, Known> present = members_;
  for (auto& [rank, one] : before) {
    const auto same = present.find(rank);
    if (same != present.end() && same->second.id == one.id) continue;
    members_.insert_or_assign(rank, std::move(one));
    went(rank, revision);
    if (same != present.end()) members_.insert_or_assign(rank, same->second);
  }
  revision_ = std::max(revision_, revision);
  begin_epoch(revision);
  changed_->notify_all();
}

} // namespace dlhost::plugins::rendezvous
