#include "etcd_session.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <sodium.h>

#include "secret.h"

namespace dlhost::plugins::rendezvous {
namespace {

constexpr Nanoseconds one_second = 1'000'000'000;
constexpr Nanoseconds look_every = one_second / 10;  // whether a rank is free
constexpr Nanoseconds time_to_ask = 10 * one_second; // of questions that have no limit of their own
constexpr Nanoseconds time_to_go = 2 * one_second;
constexpr std::size_t most_departures_kept = 64, most_reason = 1000;
constexpr std::uint32_t most_ranks = 1U << 20;
constexpr std::int64_t least_job_lease = 60;

std::string random_id() {
  std::array<unsigned char, 16> bytes{};
  randombytes_buf(bytes.data(), bytes.size());
  return base64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string_view text_of(const JobSecret& secret) {
  return {reinterpret_cast<const char*>(secret.data()), secret.size()};
}

// Lets those who know the secret see that others know the same.
std::string proof_of(const JobSecret& secret, const std::string& job) {
  const std::string said = "dlhost-etcd-1\n" + job;
  std::string proof(crypto_auth_BYTES, '\0');
  crypto_auth(reinterpret_cast<unsigned char*>(proof.data()), reinterpret_cast<const unsigned char*>(said.data()),
              said.size(), secret.data());
  return base64(proof);
}

std::string words_of(const Json& json, std::string_view name, std::size_t longest) {
  const Json& found = field(json, name);
  return found.is_string() ? found.get_ref<const std::string&>().substr(0, longest) : std::string();
}

// Bytes that JSON cannot carry become others.
std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Of an answer's operation, the keys that it found.
const Json& kvs(const Json& answer, std::size_t at) {
  const Json& all = field(answer, "responses");
  static const Json nothing;
  return all.is_array() && at < all.size() ? field(field(all[at], "response_range"), "kvs") : nothing;
}

const Json& first(const Json& found) {
  static const Json nothing;
  return found.is_array() && !found.empty() ? found.front() : nothing;
}

std::int64_t revision_of(const Json& answer) { return number_of(field(field(answer, "header"), "revision")); }
bool succeeded(const Json& answer) { return field(answer, "succeeded") == true; }

Json range(const std::string& key) { return {{"request_range", {{"key", base64(key)}}}}; }
Json range_all(const std::string& prefix) {
  return {{"request_range", {{"key", base64(prefix)}, {"range_end", base64(after(prefix))}}}};
}
Json put_in(const std::string& key, std::string_view value, std::int64_t lease) {
  return {{"request_put", {{"key", base64(key)}, {"value", base64(value)}, {"lease", std::to_string(lease)}}}};
}
Json created_at(const std::string& key, std::int64_t revision) {
  return {
      {"key", base64(key)}, {"target", "CREATE"}, {"result", "EQUAL"}, {"create_revision", std::to_string(revision)}};
}
Json modified_at(const std::string& key, std::int64_t revision) {
  return {{"key", base64(key)}, {"target", "MOD"}, {"result", "EQUAL"}, {"mod_revision", std::to_string(revision)}};
}
// No key begins so: all of none were made at revision 0.
Json none_under(const std::string& prefix) {
  Json none = created_at(prefix, 0);
  none["range_end"] = base64(after(prefix));
  return none;
}

Status allowed(std::string_view key, std::string_view value = {}) {
  if (key.empty() || key.size() > Session::largest_key)
    return Status::invalid("etcd: a key of ", key.size(), " bytes; it has 1 to ", Session::largest_key);
  if (value.size() > Session::largest_value)
    return Status::invalid("etcd: a value of ", value.size(), " bytes under '", key, "'; at most ",
                           Session::largest_value);
  return {};
}

double in_seconds(Nanoseconds time) { return static_cast<double>(time / 1'000'000) / 1e3; }

} // namespace

EtcdSession::EtcdSession(Host& host, const EtcdSetup& setup)
    : host_(host), setup_(setup), prefix_(concat("/dlhost/", setup.job, "/")), id_(random_id()),
      gateway_(host, setup.gateway),
      watch_(host, gateway_, prefix_, std::max<std::int64_t>(setup.lease, 5) * one_second),
      changed_(host.tasks().waiter()), ends_(host.tasks().waiter()) {}

Result<std::unique_ptr<Session>> EtcdSession::join(Host& host, const EtcdSetup& setup, const Joining& who,
                                                   Nanoseconds limit) {
  if (sodium_init() < 0) return Status::internal("libsodium does not start");
  DLHOST_TRY(allowed("address", who.self.address));
  const Nanoseconds end = host.clock().now() + limit;
  std::unique_ptr<EtcdSession> session(new EtcdSession(host, setup));
  DLHOST_TRY(session->find_job(who, end).at("etcd: job '", setup.job, "'"));
  DLHOST_ASSIGN(session->lease_, session->grant(setup.lease, end));
  DLHOST_TRY(session->enter(who, end).at("etcd: job '", setup.job, "'"));
  auto* const own = session.get();
  session->keeper_ = host.tasks().start("etcd leases", [own] { own->keep(); });
  session->watcher_ = host.tasks().start("etcd watch", [own] {
    own->watch_.run(
        [own] {
          const std::scoped_lock lock(own->mutex_);
          return own->revision_ + 1;
        },
        [own](const Json& changes) { own->take(changes); });
  });
  DLHOST_TRY(session->wait_for_all(end, limit).at("etcd: job '", setup.job, "'"));
  return std::unique_ptr<Session>(std::move(session));
}

EtcdSession::~EtcdSession() {
  leave("its process has ended or let go");
  keeper_.reset();
  watcher_.reset();
}

std::string EtcdSession::key_of(std::uint32_t rank) const {
  std::string digits = std::to_string(rank);
  return key(concat("members/", std::string(8 - std::min<std::size_t>(8, digits.size()), '0'), digits));
}

Result<std::int64_t> EtcdSession::grant(std::int64_t seconds, Nanoseconds end) {
  DLHOST_ASSIGN(const Json answer, gateway_.ask("lease/grant", {{"TTL", seconds}}, end));
  const std::int64_t lease = number_of(field(answer, "ID"));
  if (lease == 0) return Status::io("etcd at ", gateway_.names(), " grants no lease");
  return lease;
}

Result<std::optional<EtcdSession::Job>> EtcdSession::read_job(Nanoseconds end) {
  DLHOST_ASSIGN(const Json answer, gateway_.ask("kv/range", {{"key", base64(key("job"))}}, end));
  const Json& kv = first(field(answer, "kvs"));
  if (!kv.is_object()) return std::optional<Job>();
  return std::optional(Job{.created = number_of(field(kv, "create_revision")),
                           .modified = number_of(field(kv, "mod_revision")),
                           .lease = number_of(field(kv, "lease")),
                           .words = Json::parse(bytes_of(field(kv, "value")), nullptr, false)});
}

Status EtcdSession::find_job(const Joining& who, Nanoseconds end) {
  // Members of a run that was killed are in until their leases end.
  const Nanoseconds patience = std::min(end, now() + (setup_.lease + 1) * one_second);
  Status refused; // what the last look has shown: at the limit it tells more than that there was no time to look again
  for (;;) {
    auto found = read_job(end);
    if (!found.ok()) return refused.ok() ? std::move(found).status() : refused;
    const auto& job = *found;
    if (job) {
      Status status = agree(who, *job);
      if (status.ok()) {
        base_ = job->created;
        job_lease_ = job->lease;
        return {};
      }
      // What a run has left that ended without a word is taken over, while nobody is in.
      DLHOST_ASSIGN(const Json members, gateway_.ask("kv/range",
                                                     {{"key", base64(key("members/"))},
                                                      {"range_end", base64(after(key("members/")))},
                                                      {"count_only", true}},
                                                     end));
      if (number_of(field(members, "count")) > 0) {
        if (now() + look_every >= patience) return status;
        refused = std::move(status);
        host_.clock().sleep(look_every);
        continue;
      }
    }
    DLHOST_TRY(make_job(who, job, end)); // or another makes it
  }
}

Status EtcdSession::make_job(const Joining& who, const std::optional<Job>& abandoned, Nanoseconds end) {
  DLHOST_ASSIGN(const std::int64_t lease, grant(std::max(least_job_lease, 6 * setup_.lease), end));
  const JobSecret made = who.secret ? *who.secret : drawn_secret();
  Json words{{"expected", who.expected}, {"proof", proof_of(made, setup_.job)}};
  if (!who.secret) words["secret"] = base64(text_of(made));
  const Json still = abandoned ? modified_at(key("job"), abandoned->modified) : created_at(key("job"), 0);
  DLHOST_ASSIGN(const Json answer, gateway_.ask("kv/txn",
                                                {{"compare", {still, none_under(key("members/"))}},
                                                 {"success", {put_in(key("job"), dumped(words), lease)}}},
                                                end));
  if (!succeeded(answer)) revoke(lease, end).ignore("it ends by itself");
  return {};
}

Status EtcdSession::agree(const Joining& who, const Job& job) {
  const auto expected = static_cast<std::uint32_t>(number_of(field(job.words, "expected")));
  if (who.expected != 0 && expected != 0 && who.expected != expected)
    return Status::invalid("this process waits for ", who.expected, " members, and others for ", expected,
                           "; start all of them with one number");
  expected_ = who.expected != 0 ? who.expected : expected;
  const std::string shared = bytes_of(field(job.words, "secret"));
  if (who.secret) {
    secret_ = *who.secret;
  } else if (shared.size() == secret_.size()) {
    std::copy(shared.begin(), shared.end(), secret_.begin());
  } else {
    return Status::invalid("a launcher has handed this job's secret to its members, and none to this process");
  }
  if (words_of(job.words, "proof", 100) == proof_of(secret_, setup_.job)) return {};
  return Status::invalid("members are in who know another secret: another job has this name; give this one its own "
                         "(rendezvous = { type = \"etcd\", job = \"...\" })");
}

Status EtcdSession::enter(const Joining& who, Nanoseconds end) {
  if (who.self.rank != any_rank && who.self.rank >= most_ranks)
    return Status::invalid("there is no rank ", who.self.rank, "; they end at ", most_ranks);
  const std::string value = dumped({{"address", base64(who.self.address)}, {"host", who.self.host}, {"id", id_}});
  rank_ = who.self.rank == any_rank ? 0 : who.self.rank;
  Status refused;
  Nanoseconds kept = now();
  for (;;) {
    const auto asked = gateway_.ask("kv/txn",
                                    {{"compare", {created_at(own_key(), 0), created_at(key("job"), base_)}},
                                     {"success", {put_in(own_key(), value, lease_), range_all(key("members/"))}},
                                     {"failure", {range(own_key()), range(key("job")), range_all(key("members/"))}}},
                                    end);
    if (!asked.ok()) return refused.ok() ? asked.status() : refused;
    const Json& answer = *asked;
    const bool in = succeeded(answer);
    if (in) created_ = revision_ = revision_of(answer);
    members_.clear();
    const Json& members = kvs(answer, in ? 1 : 2);
    if (members.is_array())
      for (const Json& kv : members) came(kv);
    const auto own = members_.find(rank_);
    if (!in && own != members_.end() && own->second.id == id_) { // the answer to this was lost on its way
      created_ = own->second.created;
      revision_ = revision_of(answer);
    } else if (!in) {
      const Json& job = first(kvs(answer, 1));
      if (number_of(field(job, "create_revision")) != base_) {
        DLHOST_TRY(find_job(who, end));
        continue;
      }
      if (who.self.rank == any_rank) {
        for (rank_ = 0; members_.contains(rank_);) ++rank_;
        continue;
      }
      const std::string host = own == members_.end() ? "?" : own->second.member.host;
      refused = Status::exists("rank ", who.self.rank, " is in already, from host '", host, "'");
      if (now() + look_every >= end) return refused;
      if (now() - kept > between_beats()) {
        keep_alive(lease_);
        keep_alive(job_lease_);
        kept = now();
      }
      host_.clock().sleep(look_every); // whoever has it may be on its way out
      continue;
    }
    epoch_ = epoch_of(revision_);
    complete_ = members_.size() >= expected_;
    return {};
  }
}

Status EtcdSession::wait_for_all(Nanoseconds end, Nanoseconds limit) {
  for (;;) {
    const auto ticket = changed_->ticket();
    const Nanoseconds left = end - now();
    {
      const std::scoped_lock lock(mutex_);
      if (!over_.ok()) return over_;
      if (complete_) {
        seen_ = epoch_;
        return {};
      }
      if (left <= 0) {
        std::string missing;
        int named = 0;
        for (std::uint32_t rank = 0; rank < expected_ && named <= 10; ++rank)
          if (!members_.contains(rank)) missing += ++named > 10 ? ", ..." : concat(named > 1 ? ", " : "", rank);
        return Status::timeout("after ", in_seconds(limit), " s ", members_.size(), " of ", expected_,
                               " members have come; missing: rank ", missing);
      }
    }
    changed_->wait(ticket, left);
  }
}

// --- What goes on meanwhile ------------------------------------------------------------------------------------------

void EtcdSession::keep() {
  for (;;) {
    const auto ticket = ends_->ticket();
    {
      const std::scoped_lock lock(mutex_);
      if (leaves_ || !over_.ok()) return;
    }
    const Kept kept = keep_alive(lease_);
    if (kept == Kept::no)
      return is_over(Status::gone("etcd: this member is out: its lease of ", setup_.lease,
                                  " s has ended, as etcd heard nothing of it"));
    if (kept == Kept::yes) keep_alive(job_lease_);
    ends_->wait(ticket, kept == Kept::yes ? between_beats() : look_every);
  }
}

// Where etcd does not answer, there may still be one.
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
  if (!events.is_array()) return; // it has begun
  std::int64_t last = revision_;
  for (const Json& event : events) {
    take_one(event);
    last = std::max(last, number_of(field(field(event, "kv"), "mod_revision")));
  }
  revision_ = last; // all of one revision come together; the answer's own may be ahead of what it brings
  changed_->notify_all();
}

// With the lock held, as all that follow.
void EtcdSession::take_one(const Json& event) {
  const Json& kv = field(event, "kv");
  const std::int64_t revision = number_of(field(kv, "mod_revision"));
  if (revision <= revision_) return; // is known
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
  std::string why = concat("its lease of ", setup_.lease, " s has ended: etcd heard nothing of it");
  if (reason != reasons_.end()) why = reason->second;
  if (who->second.id == id_ && over_.ok()) over_ = Status::gone("etcd: this member is out: ", why);
  departures_.push_back({epoch_of(revision), std::move(who->second.member), std::move(why)});
  if (departures_.size() > most_departures_kept) departures_.erase(departures_.begin());
  if (reason != reasons_.end()) reasons_.erase(reason);
  members_.erase(who);
}

void EtcdSession::begin_epoch(std::int64_t revision) {
  epoch_ = epoch_of(revision);
  complete_ = complete_ || members_.size() >= expected_;
}

// etcd has forgotten what happened meanwhile: what is there now counts.
void EtcdSession::look_again() {
  const auto answer =
      gateway_.ask("kv/range", {{"key", base64(key("members/"))}, {"range_end", base64(after(key("members/")))}},
                   now() + time_to_ask);
  if (!answer.ok()) return; // the watch comes again
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

// --- What is asked ---------------------------------------------------------------------------------------------------

Status EtcdSession::in() const {
  if (!over_.ok()) return over_;
  return leaves_ ? Status::gone("etcd: this member has left") : Status();
}

Result<std::uint32_t> EtcdSession::epoch() const {
  const std::scoped_lock lock(mutex_);
  DLHOST_TRY(in());
  if (seen_ != epoch_)
    return Status::cancelled("etcd: epoch ", seen_, " is over: epoch ", epoch_,
                             " has begun; look at the membership again");
  return seen_;
}

Json EtcdSession::is_own_member() const { return created_at(own_key(), created_); }

Status EtcdSession::still_in(const Json& answer, std::size_t at) {
  if (number_of(field(first(kvs(answer, at)), "create_revision")) == created_) return {};
  // Why, the watch tells.
  wait_until(now() + one_second, [] { return false; }).ignore("it is out in any case");
  is_over(Status::gone("etcd: this member is out: its lease has ended, or it was reported gone"));
  const std::scoped_lock lock(mutex_);
  return over_;
}

// Until what the watch brings makes it true.
Status EtcdSession::wait_until(Nanoseconds end, const std::function<bool()>& is_so) {
  for (;;) {
    const auto ticket = changed_->ticket();
    {
      const std::scoped_lock lock(mutex_);
      if (!over_.ok() || is_so()) return over_;
    }
    const Nanoseconds left = end - now();
    if (left <= 0) return Status::timeout("etcd: the watch has brought nothing for a while");
    changed_->wait(ticket, left);
  }
}

Result<Membership> EtcdSession::membership(std::uint32_t newer_than, Nanoseconds limit) {
  const Nanoseconds end = now() + limit;
  for (;;) {
    const auto ticket = changed_->ticket();
    {
      const std::scoped_lock lock(mutex_);
      DLHOST_TRY(in());
      if (epoch_ > newer_than) {
        Membership made{.epoch = seen_ = epoch_, .members = {}, .departures = {}};
        for (const auto& [rank, one] : members_) made.members.push_back(one.member);
        for (const Departure& one : departures_)
          if (one.epoch > newer_than) made.departures.push_back(one);
        return made;
      }
    }
    const Nanoseconds left = end - now();
    if (left <= 0)
      return Status::timeout("etcd: no epoch newer than ", newer_than, " has begun in ", in_seconds(limit), " s");
    changed_->wait(ticket, left);
  }
}

Status EtcdSession::put(std::string_view name, std::string_view value) {
  DLHOST_TRY(allowed(name, value));
  DLHOST_ASSIGN(const std::uint32_t of, epoch());
  const std::string at = key(concat("store/", of, "/", name));
  bool again = false;
  DLHOST_ASSIGN(const Json answer, gateway_.ask("kv/txn",
                                                {{"compare", {is_own_member(), created_at(at, 0)}},
                                                 {"success", {put_in(at, value, lease_)}},
                                                 {"failure", {range(own_key()), range(at)}}},
                                                now() + time_to_ask, &again));
  if (succeeded(answer)) return {};
  DLHOST_TRY(still_in(answer, 0));
  const Json& there = first(kvs(answer, 1));
  const bool own = number_of(field(there, "lease")) == lease_ && bytes_of(field(there, "value")) == value;
  if (again && own) return {}; // the first answer was lost on its way
  return Status::exists("etcd: '", name, "' is written already in epoch ", of);
}

Result<std::string> EtcdSession::get(std::string_view name, Nanoseconds limit) {
  DLHOST_TRY(allowed(name));
  const Nanoseconds end = now() + limit;
  for (;;) {
    const auto ticket = changed_->ticket();
    DLHOST_ASSIGN(const std::uint32_t of, epoch());
    DLHOST_ASSIGN(const Json answer,
                  gateway_.ask("kv/range", {{"key", base64(key(concat("store/", of, "/", name)))}}, end));
    const Json& kv = first(field(answer, "kvs"));
    if (kv.is_object()) return bytes_of(field(kv, "value"));
    const Nanoseconds left = end - now();
    if (left <= 0) return Status::timeout("etcd: nobody has put '", name, "' in ", in_seconds(limit), " s");
    changed_->wait(ticket, left);
  }
}

Status EtcdSession::report_gone(std::uint32_t rank, std::string_view why) {
  Known who;
  {
    const std::scoped_lock lock(mutex_);
    DLHOST_TRY(in());
    const auto found = members_.find(rank);
    if (found == members_.end() || found->second.member.since > seen_) return {}; // one that has come since is another
    who = found->second;
  }
  const Nanoseconds end = now() + time_to_ask;
  const std::string reason = concat("rank ", rank_, " reported it: ", why.substr(0, most_reason - 100));
  DLHOST_ASSIGN(const Json answer, gateway_.ask("kv/txn",
                                                {{"compare", {is_own_member(), created_at(key_of(rank), who.created)}},
                                                 {"success", {put_in(key("gone/" + who.id), reason, job_lease_)}},
                                                 {"failure", {range(own_key())}}},
                                                end));
  if (!succeeded(answer)) return still_in(answer, 0);
  DLHOST_TRY(revoke(who.lease, end));
  if (rank == rank_) return {};
  return wait_until(end, [&] {
    const auto found = members_.find(rank);
    return found == members_.end() || found->second.id != who.id;
  });
}

// With it, and at once, ends all that its member is, leads and has put.
Status EtcdSession::revoke(std::int64_t lease, Nanoseconds end) {
  Status status = gateway_.ask("lease/revoke", {{"ID", std::to_string(lease)}}, end).status();
  return status.code() == Code::not_found ? Status() : std::move(status);
}

Result<bool> EtcdSession::try_lead(std::string_view what) {
  DLHOST_TRY(allowed(what));
  {
    const std::scoped_lock lock(mutex_);
    DLHOST_TRY(in());
  }
  const std::string at = key(concat("lead/", what));
  DLHOST_ASSIGN(const Json answer, gateway_.ask("kv/txn",
                                                {{"compare", {is_own_member(), created_at(at, 0)}},
                                                 {"success", {put_in(at, id_, lease_)}},
                                                 {"failure", {range(own_key()), range(at)}}},
                                                now() + time_to_ask));
  if (succeeded(answer)) return true;
  DLHOST_TRY(still_in(answer, 0));
  return bytes_of(field(first(kvs(answer, 1)), "value")) == id_;
}

void EtcdSession::leave(std::string_view why) {
  const Nanoseconds end = now() + time_to_go;
  bool in_still = false;
  {
    const std::scoped_lock lock(mutex_);
    if (leaves_) return;
    leaves_ = true;
    in_still = over_.ok();
    if (in_still) over_ = Status::gone("etcd: this member has left");
  }
  changed_->notify_all();
  ends_->notify_all();
  watch_.end();
  if (in_still && created_ != 0)
    gateway_
        .ask("kv/txn",
             {{"compare", {is_own_member()}},
              {"success", {put_in(key("gone/" + id_), why.substr(0, most_reason), job_lease_)}}},
             end)
        .status()
        .ignore("its lease ends in any case");
  if (lease_ != 0) revoke(lease_, end).ignore("it ends by itself");
  if (base_ == 0) return;
  // Who leaves last takes everything away.
  const auto empty = gateway_.ask(
      "kv/txn",
      {{"compare", {none_under(key("members/"))}},
       {"success", {{{"request_delete_range", {{"key", base64(prefix_)}, {"range_end", base64(after(prefix_))}}}}}}},
      end);
  if (empty.ok() && succeeded(*empty)) revoke(job_lease_, end).ignore("it ends by itself");
}

} // namespace dlhost::plugins::rendezvous
