// The processes of a run, on one machine or many, as one of them sees them: the present members, and the texts that
// they exchange before workers can communicate. It uses a rendezvous (dlhost/rendezvous.h), whose epochs begin when a
// member comes or goes.
// Thread: several tasks of one process.
//
// One member leads the run and trains as if all workers were its own. The others (agent.h) start their part of the
// workers. The lowest rank begins. If the leader is lost, a member that sees the run's folder takes its place.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dlhost/rendezvous.h>

#include "config/job.h"
#include "plugin/registry.h"
#include "run/membership/meeting_folder.h"

namespace dlhost::run {

class Members {
 public:
  // Waits until all expected members are present.
  static Result<std::unique_ptr<Members>> join(Host&, plugin::Registry&, const Part& rendezvous, Joining);
  ~Members();

  std::uint32_t rank() const { return session_->rank(); }
  // The name of this member's machine.
  const std::string& host() const { return host_; }
  std::uint32_t expected() const { return session_->expected(); }
  bool leads() const { return leads_; }
  // True if no member has gone yet and no rank is lower.
  bool is_to_begin() const { return !has_lost() && rank() == members_.front().rank; }
  // True if a member has gone, as far as the rendezvous remembers.
  bool has_lost() const { return lost_; }
  // True if this member is out, or the rendezvous has ended. It can neither hear nor tell anything.
  bool is_out() const { return out_; }
  // Leads from now on, unless another member leads. See leads().
  Status try_to_lead();
  env::Secret secret() const { return session_->secret(); }
  // The membership's name: equal for all its members, unique, and it reveals nothing of the secret. Empty: the
  // membership ends with its founder and cannot be joined again.
  std::string name() const;

  // Reads the present members. Texts of an older epoch are gone.
  Status look();
  // Waits for a member to come, go or announce that it leaves. Errors: the rendezvous is lost.
  Status await_change(Nanoseconds limit);
  bool has_changed() const { return changed_; }
  // Announces that this member wants to leave. It keeps its workers until the leader has ended the attempt. Only one
  // member can announce in each epoch; the next one does so when the first is out.
  void announce_leave();
  // look(), once the members that announced are out. Called by the leader between two attempts. It does not wait long:
  // a member that hangs gets workers again.
  Status await_leavers(Clock&);
  std::uint32_t epoch() const { return epoch_; }
  const std::vector<Member>& all() const { return members_; }

  // The number of attempts that this member has seen begin in this epoch.
  std::uint32_t attempts() const { return attempts_; }
  std::uint32_t next_attempt() { return attempts_++; }
  // The mark of the next attempt. No other attempt of these members has it while its workers could exist.
  std::uint32_t mark_of_next() const { return epoch_ << 16U | (attempts_ & 0xFFFFU); }

  // Publishes a text of any length under a name, which may be used once in an epoch. Errors: Code::exists: it was told
  // already.
  Status tell(const std::string& name, std::string_view text);
  // Errors: Code::timeout: not told yet. Code::cancelled: another epoch has begun. Code::gone: this member is out, or
  // the rendezvous has ended.
  Result<std::string> hear(const std::string& name, Nanoseconds limit);
  static constexpr Nanoseconds glance = 20'000'000; // timeout for texts that may exist already
  void leave(std::string_view why) { session_->leave(why); }
  Status report_gone(std::uint32_t rank, std::string_view why) { return session_->report_gone(rank, why); }
  // Tells the other members that the run is over, or why it ends, and waits for them to leave. Called by the leader.
  void dismiss(Clock&, std::string_view why = {});

 private:
  Members(std::unique_ptr<dlhost::Session> session, std::string host)
      : session_(std::move(session)), host_(std::move(host)) {}

  std::unique_ptr<Rendezvous> rendezvous_;
  std::unique_ptr<dlhost::Session> session_;
  std::string host_;
  std::vector<Member> members_;
  std::uint32_t epoch_ = 0, attempts_ = 0;
  std::uint32_t announced_ = 0; // epoch in which this member announced that it leaves; 0: none
  bool leads_ = false, lost_ = false;
  template <class T> T noted(T told) const; // notes whether this member is out
  std::atomic<bool> changed_{false};        // a member came, went or announced since look()
  mutable std::atomic<bool> out_{false};
};

// Distributes the seats over the members: the numbers per member differ by at most one. Members of a host share memory
// and get adjacent seats.
struct Assignment {
  std::vector<std::uint32_t> ranks;    // of each seat
  std::vector<std::uint32_t> machines; // of each seat, ascending from 0 on
  static Assignment of(std::vector<Member>, std::uint32_t leader, std::uint32_t seats); // the leader has the first
  std::vector<std::uint32_t> seats_of(std::uint32_t rank) const;
};

// Data for the next leader: the run's folder, and the mark of the leader that wrote it (leadership.h).
struct Takeover {
  std::string run, mark;
  std::string to_text() const;
  static Result<Takeover> read(const std::string& text);
};

// An attempt of the run, as the leader announces it to the other members.
struct AttemptPlan {
  std::string job; // text of the job
  Assignment assignment;
  std::uint32_t epoch = 0; // epoch of the attempt's messages
  Takeover takeover = {};  // if known
  std::string to_text() const;
  static Result<AttemptPlan> read(const std::string& text);
};

// Names of the texts, by number of the attempt in the epoch, and by seat.
struct Told {
  static std::string call(std::uint32_t attempt) { return concat("call-", attempt); }
  static std::string takeover(std::uint32_t attempt) { return concat("will-", attempt); }
  static std::string over(std::uint32_t attempt) { return concat("over-", attempt); }
  static std::string fate(std::uint32_t attempt, std::uint32_t seat) { return concat("fate-", attempt, "-", seat); }
  static std::string kill(std::uint32_t attempt, std::uint32_t seat) { return concat("kill-", attempt, "-", seat); }
  static constexpr const char* leaving = "leaving";
  static constexpr const char* end = "end";
};

} // namespace dlhost::run
