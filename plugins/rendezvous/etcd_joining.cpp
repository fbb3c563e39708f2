// How a member joins a job: it finds or makes the job, takes its rank, and waits for the other members.
#include <algorithm>

#include <sodium.h>

#include "etcd_session.h"
#include "etcd_words.h"
#include "secret.h"

namespace dlhost::plugins::rendezvous {
namespace {

constexpr std::int64_t least_job_lease = 60;

std::string_view text_of(const JobSecret& secret) {
  return {reinterpret_cast<const char*>(secret.data()), secret.size()};
}

// Proves to others with the secret that it is the same.
std::string proof_of(const JobSecret& secret, const std::string& job) {
  const std::string said = "dlhost-etcd-1\n" + job;
  std::string proof(crypto_auth_BYTES, '\0');
  crypto_auth(reinterpret_cast<unsigned char*>(proof.data()), reinterpret_cast<const unsigned char*>(said.data()),
              said.size(), secret.data());
  return base64(proof);
}

} // namespace

Result<std::unique_ptr<Session>> EtcdSession::join(Host& host, const EtcdSetup& setup, const Joining& who,
                                                   Nanoseconds limit) {
  if (sodium_init() < 0) return Status::internal("libsodium does not start");
  DLHOST_TRY(allowed("address", who.self.address));
  const Nanoseconds end = host.clock().now() + limit;
  std::unique_ptr<EtcdSession> session(new EtcdSession(host, setup, who.self.host));
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
  // Members of a killed run stay in until their leases end.
  const Nanoseconds patience = std::min(end, now() + (setup_.lease + 1) * one_second);
  Status refused; // of the last look: more telling at the limit than a timeout
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
      // The job of a run that ended without leaving is taken over once no member is in.
      const auto members = gateway_.ask(
          "kv/range",
          {{"key", base64(key("members/"))}, {"range_end", base64(after(key("members/")))}, {"count_only", true}}, end);
      if (!members.ok()) return status;
      if (number_of(field(*members, "count")) > 0) {
        if (now() + look_every >= patience) return status;
        refused = std::move(status);
        host_.clock().sleep(look_every);
        continue;
      }
    }
    DLHOST_TRY(make_job(who, job, end)); // or another process makes it first
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
  return Status::invalid("the members know another secret: another job has this name; give this job its own "
                         "name (rendezvous = { type = \"etcd\", job = \"...\" })");
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
    if (!in && own != members_.end() && own->second.id == id_) { // the answer to this was lost
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
      host_.clock().sleep(look_every); // its holder may be leaving
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

} // namespace dlhost::plugins::rendezvous
