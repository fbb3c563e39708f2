#include "etcd_session.h"

#include <algorithm>
#include <array>

#include <sodium.h>

#include "etcd_words.h"

namespace dlhost::plugins::rendezvous {
namespace {

std::string random_id() {
  std::array<unsigned char, 16> bytes{};
  randombytes_buf(bytes.data(), bytes.size());
  return base64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

} // namespace

EtcdSession::EtcdSession(Host& host, const EtcdSetup& setup, std::string own_host)
    : host_(host), setup_(setup), own_host_(std::move(own_host)), prefix_(concat("/dlhost/", setup.job, "/")),
      id_(random_id()), gateway_(host, setup.gateway),
      watch_(host, gateway_, prefix_, std::max<std::int64_t>(setup.lease, 5) * one_second),
      changed_(host.tasks().waiter()), ends_(host.tasks().waiter()) {}

EtcdSession::~EtcdSession() {
  leave("its process has ended or let go");
  keeper_.reset();
  watcher_.reset();
}

std::string EtcdSession::key_of(std::uint32_t rank) const {
  std::string digits = std::to_string(rank);
  return key(concat("members/", std::string(8 - std::min<std::size_t>(8, digits.size()), '0'), digits));
}

Status EtcdSession::in() const {
  if (!over_.ok()) return over_;
  return leaves_ ? Status::gone("etcd: this member has left") : Status();
}

Status EtcdSession::out(std::string_view why) const {
  return Status::gone("etcd: rank ", rank_, ", this process on host '", own_host_, "', is out: ", why);
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
  // The watch gives the reason.
  wait_until(now() + one_second, [] { return false; }).ignore("it is out in any case");
  is_over(out("its lease has ended, or it was reported gone"));
  const std::scoped_lock lock(mutex_);
  return over_;
}

// Waits until events of the watch make `is_so` true, or the session is over.
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
  if (again && own) return {}; // the first answer was lost
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
    if (left <= 0) return Status::timeout("etcd: no member has put '", name, "' in ", in_seconds(limit), " s");
    changed_->wait(ticket, left);
  }
}

Status EtcdSession::report_gone(std::uint32_t rank, std::string_view why) {
  Known who;
  {
    const std::scoped_lock lock(mutex_);
    DLHOST_TRY(in());
    const auto found = members_.find(rank);
    // A later member of that rank is another.
    if (found == members_.end() || found->second.member.since > seen_) return {};
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

// Ends at once the member's key, its leads and its puts.
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
  // The last member to leave deletes all keys.
  const auto empty = gateway_.ask(
      "kv/txn",
      {{"compare", {none_under(key("members/"))}},
       {"success", {{{"request_delete_range", {{"key", base64(prefix_)}, {"range_end", base64(after(prefix_))}}}}}}},
      end);
  if (empty.ok() && succeeded(*empty)) revoke(job_lease_, end).ignore("it ends by itself");
}

} // namespace dlhost::plugins::rendezvous
