// The processes that a run was started as, on one machine or on many, as one of them sees them: who is in, and what
// they tell one another before workers can. By a rendezvous (dlhost/rendezvous.h), whose epochs begin when somebody
// comes or goes. Used by several tasks of one process.
//
// One leads the run: it trains as if all workers were its own. The others (agent.h) start those workers that are to be
// theirs. The lowest rank begins; when who leads is lost, one of those who see the run's folder takes its place.
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
  // Until all that are expected are in.
  static Result<std::unique_ptr<Members>> join(Host&, plugin::Registry&, const Part& rendezvous, Joining);
  ~Members();

  std::uint32_t rank() const { return session_->rank(); }
  // What this one's machine is called.
  const std::string& host() const { return host_; }
  std::uint32_t expected() const { return session_->expected(); }
  bool leads() const { return leads_; }
  // None of those who met has gone yet, and no rank is lower.
  bool is_to_begin() const { return !has_lost() && rank() == members_.front().rank; }
  // One who was in has gone, as far as is remembered.
  bool has_lost() const { return lost_; }
  // This one is out, or nobody can be in any more: it hears and tells nothing.
  bool is_out() const { return out_; }
  // From now on it does, if nobody else does.
  Status try_to_lead();
  env::Secret secret() const { return session_->secret(); }
  // What all who are ever in it call it, and nobody else; who knows it knows nothing of the secret. Empty: it ends with
  // one of them, and is another when they come again.
  std::string name() const;

  // What is so by now. What was told in an older epoch is gone.
  Status look();
  // Waits for so long for a member to come, to go, or to say that it wants to go. Not ok: nothing is heard any more.
  Status await_change(Nanoseconds limit);
  bool has_changed() const { return changed_; }
  // A member that wants to go says so before, and keeps its workers until the leader has ended the attempt. One can say
  // so in each epoch; the next one says it when that one is out.
  void announce_leave();
  // Of who leads, between two attempts: look(), once those that have said so are out. Not for long: one that hangs
  // gets workers again.
  Status await_leavers(Clock&);
  std::uint32_t epoch() const { return epoch_; }
  const std::vector<Member>& all() const { return members_; }

  // Attempts that this one has seen begin in this epoch, each known by its number among them.
  std::uint32_t attempts() const { return attempts_; }
  std::uint32_t next_attempt() { return attempts_++; }
  // Of the attempt that begins next: no other of these members has it, for as long as its workers could be about.
  std::uint32_t mark_of_next() const { return epoch_ << 16U | (attempts_ & 0xFFFFU); }

  // Texts of any length, by a name that is used once an epoch. Exists: it was told already.
  Status tell(const std::string& name, std::string_view text);
  // Timeout: nobody has told it yet. Cancelled: another epoch has begun. Gone: this one is out, or the rendezvous
  // ended.
  Result<std::string> hear(const std::string& name, Nanoseconds limit);
  static constexpr Nanoseconds glance = 20'000'000; // for what may have been told already
  void leave(std::string_view why) { session_->leave(why); }
  Status report_gone(std::uint32_t rank, std::string_view why) { return session_->report_gone(rank, why); }
  // Of who leads: the others hear that the run is over, or why it does not go on, and leave.
  void dismiss(Clock&, std::string_view why = {});

 private:
  Members(std::unique_ptr<dlhost::Session> session, std::string host)
      : session_(std::move(session)), host_(std::move(host)) {}

  std::unique_ptr<Rendezvous> rendezvous_;
  std::unique_ptr<dlhost::Session> session_;
  std::string host_;
  std::vector<Member> members_;
  std::uint32_t epoch_ = 0, attempts_ = 0;
  std::uint32_t announced_ = 0; // the epoch in which this one said that it wants to go; 0: none
  bool leads_ = false, lost_ = false;
  template <class T> T noted(T told) const; // whether it is out
  std::atomic<bool> changed_{false};        // who is in, since look()
  mutable std::atomic<bool> out_{false};
};

// Who has which worker, of those that are in: each as many as any other, or one more; those of one host share memory,
// and have seats that are neighbours.
struct Assignment {
  std::vector<std::uint32_t> ranks;    // of each seat
  std::vector<std::uint32_t> machines; // of each seat, ascending from 0 on
  static Assignment of(std::vector<Member>, std::uint32_t leader, std::uint32_t seats); // who leads has the first
  std::vector<std::uint32_t> seats_of(std::uint32_t rank) const;
};

// What is left to who takes the leader's place: the run's folder, and the mark of who led it there (leadership.h).
struct Takeover {
  std::string run, mark;
  std::string to_text() const;
  static Result<Takeover> read(const std::string& text);
};

// An attempt of the run, as its leader tells the others of it.
struct AttemptPlan {
  std::string job; // its text
  Assignment assignment;
  std::uint32_t epoch = 0; // that its messages are of
  Takeover takeover = {};  // where it is known
  std::string to_text() const;
  static Result<AttemptPlan> read(const std::string& text);
};

// The names of what is told: of the n-th attempt of an epoch, and of the run.
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
