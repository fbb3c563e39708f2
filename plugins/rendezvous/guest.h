// A member's session at an embedded rendezvous: a link to the founder, and a task that reads it, stores the membership,
// and sends signs of life.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <dlhost/rendezvous.h>

#include "meeting/frames.h"
#include "words.h"

namespace dlhost::plugins::rendezvous {

class Guest final : public Session {
 public:
  // `at`: the founder's HOST:PORT. The founder may start later than its members.
  static Result<std::unique_ptr<Guest>> join(Host&, const std::string& at, const meeting::Terms&, const Joining&,
                                             Nanoseconds limit);
  ~Guest() override;

  std::uint32_t rank() const override { return rank_; }
  std::uint32_t expected() const override { return expected_; }
  JobSecret secret() const override { return terms_.secret; }
  Result<Membership> membership(std::uint32_t newer_than, Nanoseconds limit) override;
  Status put(std::string_view key, std::string_view value) override;
  Result<std::string> get(std::string_view key, Nanoseconds limit) override;
  Status report_gone(std::uint32_t rank, std::string_view why) override;
  Result<bool> try_lead(std::string_view what) override;
  void leave(std::string_view why) override;

  // Keeps the founder alive with the session, if it is in this process.
  void keep(std::unique_ptr<Place> place) { place_ = std::move(place); }

 private:
  Guest(Host& host, std::string at, const meeting::Terms& terms, std::unique_ptr<meeting::Link> link);
  static Result<std::unique_ptr<meeting::Link>> meet(Host&, const std::string& at, const meeting::Terms&,
                                                     Nanoseconds end);
  Status enter(const Joining&, Nanoseconds end);
  Status missing(Nanoseconds limit);

  // Sends a request and waits for its answer.
  Result<Words> ask(Words, Nanoseconds limit);
  Status say(const Words&);      // requires the lock
  std::uint32_t current() const; // the session's epoch
  void run();
  Status hear(Nanoseconds now);
  void take(Words);
  void sleep();
  void is_over(const Status& why);

  Host& host_;
  const std::string at_;
  const meeting::Terms terms_;
  std::unique_ptr<Place> place_;
  meeting::Socket waker_;
  std::uint32_t rank_ = any_rank, expected_ = 0;

  mutable std::mutex mutex_; // guards all members below
  std::unique_ptr<Waiter> changed_;
  std::unique_ptr<meeting::Link> link_;
  meeting::Frames frames_;
  Status over_; // not ok: no more requests, and why
  bool complete_ = false, leaves_ = false;
  Membership now_;           // the latest
  std::uint32_t seen_ = 0;   // the epoch last returned
  std::uint32_t number_ = 0; // of the last request
  std::map<std::uint32_t, std::optional<Words>> answers_;
  Nanoseconds heard_ = 0, said_ = 0;
  std::unique_ptr<Task> task_; // last: uses all members above
};

} // namespace dlhost::plugins::rendezvous
