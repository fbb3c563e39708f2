// Consistency handlers decide when a get is answered and when updates are applied.
//
// A handler has two halves. The worker half decides what to push and pull, and when. The server half decides for each
// slice what happens to a get or an update: serve it or let it wait; apply, hold, fold or drop it, and with which
// weight. A handler decides; core acts.
//
//   event                             call             core then
//   a worker ends a step              plan             sends its contribution and asks for the next version, or not
//   a worker asks for a slice         on_get           answers, or asks the handler again when the slice has changed
//   a contribution has come           on_update        applies the chosen ones by one updater call, keeps, or drops
//   the run starts, or starts again   on_put           takes contributions and gets
//   a worker makes no more steps      on_member        decides about the held contributions
//   the run stands still              weight_at_pause  applies the folded contributions
//
// Calls of one slice come in this order: on_put; then on_get, on_update and on_member in any order. After a death, and
// after a pause that changes the workers, it begins again with on_put.
//
// With Traits::by_step one chooser, beside the first server of a server group, decides for all slices. It calls
// on_update, on_member and weight_at_pause with a state of its own: `slice` is 0, a contribution stands for a whole
// step of a group, and it has no bytes. The servers still call on_put and on_get for each slice, with that slice's
// state. The two states have separate words.
//
// Thread: one task calls all functions of one object. Each worker has its own objects, for its own plans and for the
//   server beside it. One object decides about many slices, in turns.
// Owns: nothing of a run. The state of a slice lies in SliceState::own, not in members.
// Forbidden in every call: to block, read a clock, read or write values, or allocate memory; and to keep a reference to
//   the state, its spans or the contribution after the call.
// Errors: no function returns one. Core checks each verdict; one that it cannot follow ends the run.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <dlhost/host.h>
#include <dlhost/kind.h>
#include <dlhost/message.h>

namespace dlhost {

// The state of one slice, as the server half sees it. With Traits::by_step, on_update, on_member and weight_at_pause
// see the chooser's: its contributors are groups, and `own` has words_each words for each group.
struct SliceState {
  SliceId slice = 0;
  Version version = 0;
  std::uint32_t groups = 1;       // worker groups that send here, also those that have left; by_step: as `contributors`
  std::uint32_t contributors = 1; // workers that still make steps; by_step: such groups, and groups with held steps
  std::uint32_t expected = 1;     // workers that send here, also those that have left; by_step: groups
  std::uint32_t from = 0;         // index among `expected` of the one that updates, asks or leaves: group by group
  float folded = 0;               // sum of the weights of contributions folded since the last version
  std::span<const Contribution> held; // waiting updates, in the order of arrival; their bytes may not be read
  // The handler's words: Traits::own_words, then words_each for each of `expected`. They are 0 when a run starts, and
  // whenever it starts again, but for the first word of each contributor: the number of its steps that count already.
  // Core does not save them.
  std::span<std::uint64_t> own;
};

enum class GetVerdict : std::uint8_t { serve, wait };

struct UpdateVerdict {
  // Requires: on_member and on_timer, which bring no contribution, answer `hold` or `combine`.
  enum class Act : std::uint8_t {
    hold,    // keep it and wait; on_member, on_timer: do nothing. Requires: less than `expected` are held
    apply,   // apply this one alone, now; the held ones stay
    combine, // apply one update of the weighted sum of all held and this one. Requires: there is one
    drop,    // count it as lost. Requires: Traits::may_drop
    fold,    // add it, weighted, to the next version, which does not wait for it. Requires: Traits::folds
  } act = Act::hold;
  float weight = 1;      // apply, combine: of the sum, folded ones included; fold: of the contribution, above 0
  float rate_factor = 1; // apply, combine: factor on the updater's rate, at least 0
  bool in_place = false; // apply, combine: readers may see it half done (hogwild)
  bool late = false;     // fold: counted as late. `drop` always is
};

// A worker's actions around a step. Core follows a plan only if, in every step,
//   update_locally  is what it is for step 0,
//   send_delta      is what it is for step 0, and false without update_locally,
//   push            is true without update_locally,
//   delta_factor    is 1 without send_delta.
// Another plan is an error of the run. dlhost conform checks it.
struct WorkerPlan {
  bool pull = true;            // fetch params before this step; of step 0 it has no effect: the values are there
  bool push = true;            // send this step's contribution. False: the gradient is added to the next contribution
  bool update_locally = false; // also apply the updater to the worker's own copy; a pull replaces that copy, unless
                               // send_delta
  bool send_delta = false;     // push the difference to the last pulled values instead of gradients
  float delta_factor = 1;      // elastic: the part of the difference that moves
  Version at_least = 0;        // the pull waits for this version: the `at_least` of on_get
};

class DLHOST_API Consistency : public Plugin {
 public:
  static constexpr Kind kind = Kind::consistency;

  // Core refuses a job with several workers if its handler
  //   folds and has no readers_overlap;
  //   plans update_locally, and is joint, or has no readers_overlap, or groups have several workers;
  //   asks to be called later (next_timer).
  // It refuses a job with a handler for single params unless that handler and the job's agree in joint, in whether
  // staleness is 0, in update_locally, in send_delta, and in whether a version has all contributions of a step; and
  // unless neither is by_step.
  // It refuses topology.replicas with a handler that is joint and folds; or is joint, has a staleness and is not
  // by_step; or is not joint and has no readers_overlap. train.reproducible, and syncs of gradients or contributions,
  // need a handler that is joint with staleness 0.
  struct Traits {
    // Whether the groups' contributions make one update together: losses are then divided by all groups' samples. Else
    // each group makes its own updates. Joint with staleness 0: all groups make each step together.
    bool joint = false;
    bool by_step = false; // groups are chosen for whole steps, by one chooser, instead of workers for each slice
    // An update may run while a version is read: needs two buffers. False: each update overwrites the value that
    // workers read. A handler without it lets no worker read meanwhile (strict), or says in_place (hogwild).
    bool readers_overlap = false;
    std::size_t own_words = 0;  // number of words in SliceState::own
    std::size_t words_each = 0; // then so many for each of SliceState::expected
    // A get by a worker that has made n steps contains all that each other worker contributed in its first n -
    // staleness steps, except dropped contributions. Core checks it at each answer, unless the handler may drop.
    std::uint64_t staleness = 0;
    bool may_drop = false; // some verdicts drop
    bool folds = false;    // some verdicts fold
  };
  // Asked: what core may rely on.
  // Called: often, also in the step loop. Requires: the same answer for the whole life of the object.
  virtual Traits traits() const = 0;

  // Asked: what a worker does around a step. `have` is the version of the slice that the worker computed with.
  // Called: for each slice when a worker ends a step, with the number of the next step: core then follows `pull` and
  //   `at_least`. With update_locally also once for each param with the number of the step that ends: core then follows
  //   `push`. Before the first step several times with (0, 0).
  // Requires: a function of its arguments alone.
  virtual WorkerPlan plan(std::uint64_t step, Version have) const = 0;

  // Asked: whether a worker gets the present version. It is worker `rank` of `group`, and `from` in the state.
  //   `at_least` is what its plan said; 0 if its step was dropped or folded.
  // Called: when the get comes. Then again, until it is served, after each version, after each worker that leaves, and
  //   after each exchange with other server groups. A worker has one open get for a slice. Not called while the groups
  //   exchange, if all make each step together; nor by_step, before it is decided whether the worker's step counts.
  // Requires: `own` is not changed. If a worker waits, a later contribution or on_member lets it go on.
  // Errors: an answer that is older than Traits::staleness allows ends the run.
  virtual GetVerdict on_get(const SliceState&, std::uint16_t group, std::uint16_t rank, Version at_least) = 0;

  // Asked: what becomes of a contribution. `from` in the state is who sent it; `held` does not contain it.
  // Called: once for each contribution, in the order of arrival; by_step once for each step of a group, when all its
  //   workers have sent it. A contribution that is repeated after a death comes only if it is in no version.
  // Requires: what it decides follows from its arguments, so that it is the same in a simulation.
  // May change: `own`. Core counts versions and empties `held` after the call.
  virtual UpdateVerdict on_update(SliceState&, const Contribution&) = 0;

  // Told: the run starts, or continues after a death or from a checkpoint, with this value and version. `own` has its
  //   initial values, nothing is held or folded, and no worker waits.
  // Called: once for each slice and start, before all other calls of that slice. Not for the chooser's state.
  // May change: `own`.
  // Default: does nothing.
  virtual void on_put(SliceState&);

  // Asked: what becomes of the held contributions, now that a worker makes no more steps. `contributors` no longer
  //   counts it, and `from` is that worker; by_step: the group whose last worker has left.
  // Called: once for each slice and worker that has made its last step, unless it was the last of all. Not for a worker
  //   that dies or joins: the run then starts again, with on_put.
  // Requires: a handler whose versions wait for all contributors combines here if all that are left have contributed.
  // May change: `own`.
  // Default: hold, which does nothing. It suits handlers that hold nothing.
  virtual UpdateVerdict on_member(SliceState&);

  // Asked: after how many nanoseconds from the slice's last event on_timer is to be called. 0: never.
  // Called: once, before the run, with a state without words. Core calls no timers in this version: it refuses a job
  //   with several workers whose handler answers anything but 0.
  // Default: 0.
  virtual Nanoseconds next_timer(const SliceState&) const;

  // Asked: what becomes of the held contributions, now that the time is over.
  // Called: by dlhost conform alone, in this version.
  // Default: hold, which does nothing.
  virtual UpdateVerdict on_timer(SliceState&);

  // Asked: the weight with which the sum of the folded contributions goes into the present version, while the run
  //   stands still to be inspected or saved. The version number stays. `from` is 0.
  // Called: at each pause, if Traits::folds: for each slice that has folded contributions. Held ones stay held. By_step
  //   once, for all slices; core then also folds the held steps, with weight 1.
  // Requires: above 0. `own` is not changed.
  // Default: 1.
  virtual float weight_at_pause(const SliceState&) const;
};

} // namespace dlhost
