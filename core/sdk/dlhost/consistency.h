// Consistency: when a get is answered and when updates are applied.
//
// A handler has two halves. The worker half decides what to push and pull, and when. The server half decides, slice by
// slice, what happens to a get, an update or a put: serve it or let it wait; apply it, hold it or drop it, and with
// which weight. Handlers never block, never read a clock and never touch values: they decide, core acts. All their
// state lies in SliceState::own, so that it is published, replicated and checkpointed with the slice.
//
//   worker                      server half               core then
//   get(slice, have)            on_get                    answers now, or keeps it until the next decision
//   update(contribution)        on_update                 applies the chosen ones by one updater call, keeps, or drops
//   put(values)                 on_put                    replaces the value, and all that goes with it
//   (joins, leaves, dies)       on_member                 counts anew
//   (time passes)               on_timer                  looks again
//   (the run stands still)      weight_at_pause           brings in what was folded
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <dlhost/host.h>
#include <dlhost/kind.h>
#include <dlhost/message.h>

namespace dlhost {

// What a server half may look at and change for one slice.
struct SliceState {
  SliceId slice = 0;
  Version version = 0;
  std::uint32_t groups = 1;           // worker groups that are in
  std::uint32_t contributors = 1;     // workers of theirs
  std::uint32_t expected = 1;         // workers by whose samples, all together, joint losses are divided
  std::uint32_t from = 0;             // which of `expected` brings the update, or asks: from 0 on, group by group
  float folded = 0;                   // the weights of what was folded in since the last version
  std::span<const Contribution> held; // updates that wait, in the order of their arrival
  std::span<std::uint64_t> own;       // the handler's words, as many as it asked for
};

enum class GetVerdict : std::uint8_t { serve, wait };

struct UpdateVerdict {
  enum class Act : std::uint8_t {
    hold,    // keep it and wait
    apply,   // this one alone, now
    combine, // all held and this one: one update of their weighted sum
    drop,    // count it as lost
    fold,    // add it, weighted, to what goes into the next version beside those that make it: nobody waits for it
  } act = Act::hold;
  float weight = 1;      // of the contribution, or of the sum
  float rate_factor = 1; // on the updater's rate
  bool in_place = false; // readers may see it half made (hogwild)
  bool late = false;     // folded, and counted as one that came too late
};

// What a worker does around a step.
struct WorkerPlan {
  bool pull = true;            // fetch params before this step
  bool push = true;            // send this step's contribution
  bool update_locally = false; // apply the updater to the worker's own copy as well
  bool send_delta = false;     // push value minus the last pulled, instead of gradients
  float delta_factor = 1;      // elastic: which part of the difference moves
  Version at_least = 0;        // a pull waits for this version
};

class DLHOST_API Consistency : public Plugin {
 public:
  static constexpr Kind kind = Kind::consistency;

  struct Traits {
    // The groups' contributions make one update together: losses are divided by all their samples. Else each group's
    // make updates of their own.
    bool joint = false;
    bool by_step = false;         // groups are chosen for a whole step, not workers slice by slice
    bool readers_overlap = false; // an update may be made while a version is read: needs two buffers
    std::size_t own_words = 0;    // of SliceState::own
    std::size_t words_each = 0;   // and behind them so many for each contributor; the first is the steps that it has
                                  // done when the run begins, the others are 0
    // The contract that simulation checks: a get of a worker that has made n steps has in it all that each other one
    // brought in its first n - staleness steps, but for what was dropped.
    std::uint64_t staleness = 0;
    bool may_drop = false;
    bool folds = false; // some verdicts are to fold
  };
  virtual Traits traits() const = 0;

  virtual WorkerPlan plan(std::uint64_t step, Version have) const = 0;

  virtual GetVerdict on_get(const SliceState&, std::uint16_t group, std::uint16_t rank, Version at_least) = 0;
  virtual UpdateVerdict on_update(SliceState&, const Contribution&) = 0;
  // The run begins, or goes on after a death, with this value and version. `own` is as traits() say that it begins; of
  // what was held before nothing is left.
  virtual void on_put(SliceState&);
  virtual UpdateVerdict on_member(SliceState&);
  // Called at `next_timer` after the slice's last event; 0: never.
  virtual Nanoseconds next_timer(const SliceState&) const;
  virtual UpdateVerdict on_timer(SliceState&);
  // Of a handler that folds: the run stands still, to be looked at or saved, and what is held or folded goes into the
  // version that is there, with this weight.
  virtual float weight_at_pause(const SliceState&) const;
};

} // namespace dlhost
