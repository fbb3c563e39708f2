// A member's session in etcd. All keys of a job have one prefix:
//
//   job              the secret or a proof of it, the number expected, the job's lease; has the job's lease
//   members/RANK     the member; has the member's lease, so that it ends with the member
//   gone/ID          why a member left, or was reported; has the job's lease
//   store/EPOCH/KEY  a member's put; has its lease
//   lead/WHAT        the leader; has its lease
//
// A member renews its lease and the job's. Epochs are revisions of etcd, counted from that of `job`: each change under
// members/ begins one, and a watch delivers the changes to all members in one order.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include <dlhost/rendezvous.h>

#include "gateway.h"
#include "watch.h"

namespace dlhost::plugins::rendezvous {

struct EtcdSetup {
  GatewaySetup gateway;
  std::string job;
  std::int64_t lease = 10; // seconds
};

class EtcdSession final : public Session {
 public:
  static Result<std::unique_ptr<Session>> join(Host&, const EtcdSetup&, const Joining&, Nanoseconds limit);
  ~EtcdSession() override;

  std::uint32_t rank() const override { return rank_; }
  std::uint32_t expected() const override { return expected_; }
  JobSecret secret() const override { return secret_; }
  Result<Membership> membership(std::uint32_t newer_than, Nanoseconds limit) override;
  Status put(std::string_view key, std::string_view value) override;
  Result<std::string> get(std::string_view key, Nanoseconds limit) override;
  Status report_gone(std::uint32_t rank, std::string_view why) override;
  Result<bool> try_lead(std::string_view what) override;
  void leave(std::string_view why) override;

 private:
  struct Known {
    Member member;
    std::string id;
    std::int64_t created = 0; // the revision
    std::int64_t lease = 0;
  };
  struct Job {
    std::int64_t created = 0, modified = 0, lease = 0;
    Json words;
  };

  EtcdSession(Host&, const EtcdSetup&, std::string own_host);
  Nanoseconds between_beats() const { return setup_.lease * 1'000'000'000 / 3; }
  Nanoseconds now() const { return host_.clock().now(); }
  std::string key(std::string_view rest) const { return prefix_ + std::string(rest); }
  std::string key_of(std::uint32_t rank) const;
  std::string own_key() const { return key_of(rank_); }

  // Joining.
  Status find_job(const Joining&, Nanoseconds end);
  Result<std::optional<Job>> read_job(Nanoseconds end);
  Status make_job(const Joining&, const std::optional<Job>& abandoned, Nanoseconds end);
  Status agree(const Joining&, const Job&);
  Result<std::int64_t> grant(std::int64_t seconds, Nanoseconds end);
  Status enter(const Joining&, Nanoseconds end);
  Status wait_for_all(Nanoseconds end, Nanoseconds limit);

  // Two tasks: one keeps the leases, the other follows the watch.
  void keep();
  enum class Kept : std::uint8_t { yes, no, nobody_says };
  Kept keep_alive(std::int64_t lease);
  void take(const Json& changes);
  void take_one(const Json& event);
  void came(const Json& kv);
  void went(std::uint32_t rank, std::int64_t revision);
  void look_again();
  void begin_epoch(std::int64_t revision);
  void is_over(Status);
  Status out(std::string_view why) const; // the member's error from then on
  std::string lease_ended() const {
    return concat("its lease of ", setup_.lease, " s has ended: etcd heard nothing of it");
  }

  Status in() const;                                                      // Requires: the lock held
  Result<std::uint32_t> epoch() const;                                    // of this session; Errors: it is over
  Json is_own_member() const;                                             // for a transaction
  Status still_in(const Json& answer, std::size_t at);                    // checks the member's own key in an answer
  Status wait_until(Nanoseconds end, const std::function<bool()>& is_so); // `is_so` is called with the lock held
  Status revoke(std::int64_t lease, Nanoseconds end);
  std::uint32_t epoch_of(std::int64_t revision) const { return static_cast<std::uint32_t>(revision - base_); }

  Host& host_;
  const EtcdSetup setup_;
  const std::string own_host_, prefix_, id_;
  Gateway gateway_;
  Watch watch_;
  std::uint32_t rank_ = any_rank, expected_ = 0;
  JobSecret secret_{};
  std::int64_t base_ = 0, lease_ = 0, job_lease_ = 0, created_ = 0;

  std::unique_ptr<Waiter> changed_, ends_;
  mutable std::mutex mutex_; // of all members below
  Status over_;
  bool complete_ = false, leaves_ = false;
  std::uint32_t epoch_ = 0, seen_ = 0;
  std::int64_t revision_ = 0; // all events up to here are known
  std::map<std::uint32_t, Known> members_;
  std::map<std::string, std::string> reasons_; // by id
  std::vector<Departure> departures_;
  std::unique_ptr<Task> keeper_, watcher_; // last: they use all members above
};

} // namespace dlhost::plugins::rendezvous
