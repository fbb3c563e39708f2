// The parameter table as one worker sees it. update() returns at once; collect() waits for one param, and what arrives
// meanwhile is dealt with: also for the shard that sits beside the worker, which has no task of its own.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "param/codec/coder.h"
#include "param/message/post.h"
#include "param/server/chooser.h"
#include "param/server/shard.h"
#include "param/table/clip.h"
#include "param/table/handlers.h"
#include "param/table/replica.h"
#include "param/table/slices.h"
#include "param/table/table_memory.h"

namespace dlhost::param {

// Who acts on words that are not the table's, may want a worker that waits to stand still for a while, and looks after
// the others.
class ControlHandler : public MessageHandler {
 public:
  virtual bool calls() const = 0;
  virtual Status attend() = 0;
  virtual void beat() = 0;    // it gets on, or looks whether it could
  virtual Status watch() = 0; // it waits
  // Part of this worker's memory, as it is to be shown to a seat: nothing where that sees it anyway.
  virtual Post::Shown shown(std::uint32_t seat, std::size_t place, std::size_t bytes, record::Cargo) = 0;
};

class Table final : public MessageHandler {
 public:
  struct Setup {
    Host* host = nullptr;
    Post* post = nullptr;
    Store* store = nullptr;
    const Slices* slices = nullptr;
    const Masters* masters = nullptr;
    const Gradients* gradients = nullptr; // where this worker's lie
    Handlers handlers;
    std::vector<std::uint32_t> seats;                    // of each server
    std::vector<std::vector<std::uint32_t>> other_seats; // and of each of other groups that gets the same contributions
    std::uint16_t group = 0, rank = 0;
    SampleRange rows;           // its part of each step's samples
    std::unique_ptr<Clip> clip; // of each step's gradients, before they are sent; null: they are sent as they are made
    std::unique_ptr<Replica> replica; // of a worker, alone in its group, that has values of its own; null: it has none
    std::unique_ptr<Coder> coder;     // of what it sends; null: that is sent as it is
    ControlHandler* control = nullptr;
  };
  explicit Table(Setup);
  // What a handler plans for a step that no worker can follow; null: nothing. `first`: the plan of the job's handler
  // for the first step.
  static const char* unfollowed(const WorkerPlan&, const WorkerPlan& first);
  static std::string why_not(std::string_view handler, const char* plans, std::uint64_t step);
  static constexpr const char* other_handler = "choose another handler (topology.consistency)";

  // The shard that this worker moves along, and the chooser of whole steps; both may be null.
  void sit_beside(Shard* shard, Chooser* chooser) {
    shard_ = shard;
    chooser_ = chooser;
  }
  void begin(const StartPoint&);
  // That this worker has; after look(), when nobody computes: the newest.
  Version version(SliceId slice) const { return views_[slice].version; }

  // The gradient of a param lies where it has to: its servers may have it, at once or, where a step's are clipped
  // together, at its end. Asks for what the next step needs.
  Status update(std::size_t param, std::uint64_t step, double rate);
  // Of this worker's last step, where that is clipped by itself.
  std::optional<double> gradient_norm() const { return setup_.clip ? setup_.clip->last_norm() : std::nullopt; }
  // All of the step is made.
  Status end_step(std::uint64_t step);
  // Until what was asked for is there.
  Status collect(std::size_t param);
  // The newest of all params.
  Status look();
  // What this worker keeps for later is sent now.
  Status flush();
  // Until the servers have dealt with all that this worker has sent.
  Status settle();
  // All that is asked for: so it is decided whether what this worker sent makes a version.
  Status receive();
  // That worker makes no more steps. Its group's leader says so, or the run's.
  Status leave(std::uint16_t group, std::uint16_t rank);
  // What has arrived; waits up to `limit` for something.
  Status progress(Nanoseconds limit = 0) {
    setup_.control->beat();
    DLHOST_TRY(setup_.post->progress(*this, limit));
    return limit > 0 ? setup_.control->watch() : Status();
  }
  // Waits, moving things along, until `done()`.
  template <class Done> Status wait_until(Done done) {
    while (!done()) DLHOST_TRY(progress(longest_wait));
    return {};
  }
  // The same, of who may be asked to stand still: what it waits for may have to wait for just that.
  template <class Done> Status attend_until(Done done) {
    if (done()) return {};
    Clock& clock = setup_.host->clock();
    const Nanoseconds begin = clock.now(), other = times_.serving + times_.rested;
    while (!done()) DLHOST_TRY(setup_.control->calls() ? rest() : progress(longest_wait));
    times_.waiting += clock.now() - begin - (times_.serving + times_.rested - other);
    return {};
  }

  // The same for what nobody sends word of: it is asked for again and again. Not ok: what that was.
  template <class Done> Status ask_until(const Done& done) {
    Clock& clock = setup_.host->clock();
    const Nanoseconds begin = clock.now(), served = times_.serving;
    while (true) {
      DLHOST_ASSIGN(const bool is_so, done());
      if (is_so) break;
      // The longer it lasts the less often, since others may want the processor.
      DLHOST_TRY(progress(std::min((clock.now() - begin) / 8, longest_pause)));
    }
    times_.waiting += clock.now() - begin - (times_.serving - served);
    return {};
  }

  Status send(std::uint32_t seat, Message, const Post::Shown& = {});
  Status take(const Message&) override;
  Result<bool> lose(std::uint32_t seat) override { return setup_.control->lose(seat); }

  // Where this worker's time went, so far.
  struct Times {
    Nanoseconds waiting = 0;    // in attend_until(), with nothing to serve
    Nanoseconds serving = 0;    // sums, updates, answers
    Nanoseconds converting = 0; // params and gradients, into the forms that are wanted
    Nanoseconds rested = 0;     // stood still, because it was to
  };
  const Times& times() const { return times_; }
  void converts(bool begins);
  std::size_t awaited() const { return awaited_; }
  // The first slice of a param, or of all, whose server has not answered what it was asked; null: all have.
  const Slice* unanswered(std::size_t param) const;
  record::Traffic encoded() const { return setup_.coder ? setup_.coder->traffic() : record::Traffic(); }
  const record::Traffic& factored() const { return factored_; }
  static constexpr std::size_t no_param = ~std::size_t{0};

 private:
  static constexpr Version newest = ~Version{0};
  static constexpr Nanoseconds longest_wait = 50'000'000, longest_pause = 1'000'000;
  struct View { // of a slice
    Version version = 0;
    std::uint64_t sent = 0;             // of steps below this one all is in, though one is made again
    std::size_t place = 0, history = 0; // which of the masters' values, and of their histories
    bool asked = false, looked = false; // and not yet answered
    std::uint32_t settling = 0;         // servers that have not answered
  };

  Status finish_update(std::size_t param, std::uint64_t step, double rate);
  // Of the values of its own. Not so: there is nothing to send.
  Result<bool> update_own(std::size_t param, const WorkerPlan&, std::uint64_t step, double rate);
  Status send_update(const Slice&, std::uint64_t step, double rate);
  Status serve(const Message&);
  Status rest();
  bool arrived(std::size_t param) const;
  void adopt(std::size_t param);
  Status ask(const Slice&, Word, std::uint64_t step = 0, Version at_least = 0);
  // Of what other groups' servers were sent: once they have made that version.
  Status settle_elsewhere(const Slice&, Version);
  Message about(SliceId slice, Word word) const;

  Setup setup_;
  Shard* shard_ = nullptr;
  Chooser* chooser_ = nullptr;
  std::vector<View> views_;
  WorkerPlan first_;          // of the first step: what all handlers agree on
  std::vector<bool> news_;    // of each param, that the store has not heard of
  std::vector<bool> fetched_; // of each param, that the worker's own value has not become yet
  struct Kept {
    std::size_t param = 0;
    double rate = 0;
  };
  std::vector<Kept> kept_;    // updates of this step, until it ends
  Version based_on_ = newest; // the oldest version that this step computed with, so far
  Times times_;
  record::Traffic factored_;
  std::size_t awaited_ = no_param; // the param that collect() waits for
};

} // namespace dlhost::param
