// A worker's client of the parameter table. update() returns at once; collect() waits for one param. While it waits it
// processes arriving messages, also those for the shard beside the worker, because a shard has no task of its own.
//
// All messages to this worker pass here, those that it sends to itself too. These wait in a queue, so that no message
// is processed while another one is. They are processed at the end of update() and end_step(), by progress(), and
// before a wait.
//
// Thread: the worker's task. Owns: the clip, the replica and the coder of its Setup.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include <boost/circular_buffer.hpp>

#include "param/codec/coder.h"
#include "param/message/post.h"
#include "param/server/chooser.h"
#include "param/server/shard.h"
#include "param/table/clip.h"
#include "param/table/gathered.h"
#include "param/table/handlers.h"
#include "param/table/replica.h"
#include "param/table/slices.h"
#include "param/table/table_memory.h"

namespace dlhost::param {

// Takes the messages of the run. Can ask a waiting worker to pause, and watches the other workers.
class ControlHandler {
 public:
  virtual ~ControlHandler() = default;
  virtual Status take(std::uint32_t from, const ToWorker&) = 0;
  // As MessageHandler::lose().
  virtual Result<bool> lose(std::uint32_t) { return false; }
  virtual bool calls() const = 0; // true: the worker shall pause, by attend(), while it waits
  virtual Status attend() = 0;    // pauses until the worker may continue
  virtual void beat() = 0;        // sign of life: the worker makes progress, or polls for it
  virtual Status watch() = 0;     // called while the worker waits: checks the others' signs of life
  // A part of this worker's memory to send to a seat with a message. Empty if the seat maps that memory.
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
    const Gradients* gradients = nullptr; // the layout of this worker's gradients
    Handlers handlers;
    std::vector<std::uint32_t> seats;                    // of each server
    std::vector<std::vector<std::uint32_t>> other_seats; // servers of other groups that get the same contributions
    WorkerId worker;
    SampleRange rows;                 // this worker's samples of each step
    std::unique_ptr<Clip> clip;       // clips a step's gradients before they are sent; null: each is sent when made
    std::unique_ptr<Replica> replica; // the worker's own values, if it is alone in its group; null: it has none
    std::unique_ptr<Coder> coder;     // encodes contributions; null: they are not encoded
    ControlHandler* control = nullptr;
  };
  explicit Table(Setup);
  // The part of a handler's plan that workers do not support, as text for a message; null: all is supported.
  // `first`: the plan of the job's handler for the first step.
  static const char* unfollowed(const WorkerPlan&, const WorkerPlan& first);
  static std::string why_not(std::string_view handler, const char* plans, std::uint64_t step);
  static constexpr const char* other_handler = "choose another handler (topology.consistency)";

  // The shard that this worker runs, and the chooser of whole steps. Either may be null.
  void sit_beside(Shard* shard, Chooser* chooser) {
    shard_ = shard;
    chooser_ = chooser;
  }
  void begin(const StartPoint&);
  // The version of a slice that this worker has. After look(), while no worker computes, it is the newest.
  Version version(SliceId slice) const { return views_[slice].version; }

  // Sends the gradient of a param, and asks for the param's next version. If a step's gradients are clipped together,
  // end_step() does both. Requires: the gradient is in its place in the worker's memory.
  Status update(std::size_t param, std::uint64_t step, double rate);
  // The gradient norm of this worker's last step, if the worker clips. None: it does not clip, or has made no step.
  std::optional<double> gradient_norm() const { return setup_.clip ? setup_.clip->last_norm() : std::nullopt; }
  // Call it when all updates of the step are made.
  Status end_step(std::uint64_t step);
  // Waits until the servers have answered all requests for the param. Then the store has its value.
  Status collect(std::size_t param);
  // Fetches the newest version of all params into the store.
  Status look();
  // Sends the gradients that this worker has kept for a later push.
  Status flush();
  // Waits until the servers have processed all that this worker has sent.
  Status settle();
  // Waits for the answers to all `Get`. Then it is decided for each update of this worker whether it makes a version.
  Status receive();
  // Tells those who count the workers, the servers or the chooser, that one makes no more steps. Requires: this worker
  // leads the group or the run.
  Status leave(WorkerId);
  // Processes this worker's messages to itself, and arrived ones. Without the former it waits up to `limit` for one.
  Status progress(Nanoseconds limit = 0);
  // Processes messages until `done()`.
  template <class Done> Status wait_until(Done done) {
    DLHOST_TRY(take_own());
    while (!done()) DLHOST_TRY(progress(longest_wait));
    return {};
  }
  // The same, but the worker pauses when it is asked to: perhaps `done()` cannot become true before that pause.
  template <class Done> Status attend_until(Done done) {
    DLHOST_TRY(take_own());
    if (done()) return {};
    Clock& clock = setup_.host->clock();
    const Nanoseconds begin = clock.now(), other = times_.serving + times_.rested;
    while (!done()) DLHOST_TRY(setup_.control->calls() ? rest() : progress(longest_wait));
    times_.waiting += clock.now() - begin - (times_.serving + times_.rested - other);
    return {};
  }

  // The same for a condition that no message announces: `done()` is polled. Errors: those of `done()`.
  template <class Done> Status ask_until(const Done& done) {
    DLHOST_TRY(take_own());
    Clock& clock = setup_.host->clock();
    const Nanoseconds begin = clock.now(), served = times_.serving;
    while (true) {
      DLHOST_ASSIGN(const bool is_so, done());
      if (is_so) break;
      // Polls less often the longer it waits, because other tasks may need the processor.
      DLHOST_TRY(progress(std::min((clock.now() - begin) / 8, longest_pause)));
    }
    times_.waiting += clock.now() - begin - (times_.serving - served);
    return {};
  }

  Status send(std::uint32_t seat, const Body&, const Post::Shown& = {});
  Status take(std::uint32_t from, const Body&) override;
  Result<bool> lose(std::uint32_t seat) override { return setup_.control->lose(seat); }

  // How this worker spent its time so far.
  struct Times {
    Nanoseconds waiting = 0;    // in attend_until() or ask_until(), without the times below
    Nanoseconds serving = 0;    // in the shard: sums, updates, answers
    Nanoseconds converting = 0; // encoding contributions, and copying values into the store's forms
    Nanoseconds rested = 0;     // in pauses that it was asked for
  };
  const Times& times() const { return times_; }
  void converts(bool begins);
  std::size_t awaited() const { return awaited_; }
  // The first slice of a param, or with no_param of all, whose server owes an answer. Null: there is none.
  const Slice* unanswered(std::size_t param) const;
  record::Traffic encoded() const { return setup_.coder ? setup_.coder->traffic() : record::Traffic(); }
  const record::Traffic& factored() const { return factored_; }
  static constexpr std::size_t no_param = ~std::size_t{0};

 private:
  static constexpr Version newest = ~Version{0};
  static constexpr Nanoseconds longest_wait = 50'000'000, longest_pause = 1'000'000;
  struct View { // of a slice
    Version version = 0;
    std::uint64_t sent = 0;             // updates of steps below this one are in, and are not sent again
    std::size_t place = 0, history = 0; // index among the masters' values, and among the copies of histories
    bool asked = false, looked = false; // a `Get` or a `Look` has no answer yet
    std::uint32_t settling = 0;         // servers that have not answered `Settle` yet
  };

  Status finish_update(std::size_t param, std::uint64_t step, double rate);
  // Updates the worker's own value. Returns false if there is nothing to send.
  Result<bool> update_own(std::size_t param, const WorkerPlan&, std::uint64_t step, double rate);
  SampleRange rows_of(const Slice&) const; // this worker's of a step, of which the gradient is
  Status send_update(const Slice&, std::uint64_t step, double rate);
  // Processes the messages that this worker has sent to itself.
  Status take_own();
  template <class ToShard> Status serve(std::uint32_t from, const ToShard&);
  Status choose(std::uint32_t from, const ToChooser&);
  Status take_answer(const ToClient&);
  Status move_to(SliceId, Version, std::size_t place, std::size_t history);
  Status end_settling(SliceId);
  Status rest();
  bool arrived(std::size_t param) const;
  void adopt(std::size_t param);
  Status get(const Slice&, std::uint64_t step, Version at_least);
  Status settle(const Slice&);
  // Asks the other groups' servers to answer when they have made that version.
  Status settle_elsewhere(const Slice&, Version);

  Setup setup_;
  boost::circular_buffer<Body> own_; // messages of this worker to itself
  Shard* shard_ = nullptr;
  Chooser* chooser_ = nullptr;
  std::vector<std::span<const Slice>> own_slices_; // per param: of what this worker holds
  std::vector<View> views_;
  WorkerPlan first_;          // the plan of the first step, the same in all handlers
  std::vector<bool> news_;    // per param: there is a value that the store does not have yet
  std::vector<bool> fetched_; // per param: there is a value that the replica does not have yet
  struct Kept {
    std::size_t param = 0;
    double rate = 0;
  };
  std::vector<Kept> kept_;    // updates of this step that end_step() sends
  Version based_on_ = newest; // the oldest version that this step has computed with
  Gathered gathered_;         // params of the last look() whose slices lie in several places
  std::vector<bool> copied_;  // per param: it is among these
  Times times_;
  record::Traffic factored_;
  std::size_t awaited_ = no_param; // the param that collect() waits for
};

} // namespace dlhost::param
