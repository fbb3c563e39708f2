// Consistency handlers decide when a get is answered and when updates are applied.
//
// A handler has two halves. The worker half decides what to push and pull, and when. The server half decides for each
// slice what happens to a get, an update or a put: serve it or let it wait; apply, hold or drop it, and with which
// weight. Handlers never block, read a clock or touch values: they decide, core acts. All their state lies in
// SliceState::own, so that it is published, replicated and checkpointed with the slice.
//
//   worker                      server half               core then
//   get(slice, have)            on_get                    answers now, or keeps it until the next decision
//   update(contribution)        on_update                 applies the chosen ones by one updater call, keeps, or drops
//   put(values)                 on_put                    replaces the value and its histories
//   (joins, leaves, dies)       on_member                 counts anew
//   (time passes)               on_timer                  decides again
//   (the run stands still)      weight_at_pause           applies the folded contributions
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <dlhost/host.h>
#include <dlhost/kind.h>
#include <dlhost/message.h>

namespace dlhost {

// The state of one slice that the server half may read and change.
struct SliceState {
  SliceId slice = 0;
  Version version = 0;
  std::uint32_t groups = 1;           // present worker groups
  std::uint32_t contributors = 1;     // workers in these groups
  std::uint32_t expected = 1;         // workers over whose samples joint losses are divided
  std::uint32_t from = 0;             // index among `expected` of the worker that updates or asks: group by group
  float folded = 0;                   // sum of the weights of contributions folded since the last version
  std::span<const Contribution> held; // waiting updates, in the order of arrival
  std::span<std::uint64_t> own;       // the handler's words, as many as its traits ask for
};

enum class GetVerdict : std::uint8_t { serve, wait };

struct UpdateVerdict {
  enum class Act : std::uint8_t {
    hold,    // keep it and wait
    apply,   // apply this one alone, now
    combine, // apply one update of the weighted sum of all held and this one
    drop,    // count it as lost
    fold,    // add it, weighted, to the next version, which does not wait for it
  } act = Act::hold;
  float weight = 1;      // of the contribution, or of the sum
  float rate_factor = 1; // factor on the updater's rate
  bool in_place = false; // readers may see it half done (hogwild)
  bool late = false;     // folded, and counted as late
};

// A worker's actions around a step.
struct WorkerPlan {
  bool pull = true;            // fetch params before this step
  bool push = true;            // send this step's contribution
  bool update_locally = false; // also apply the updater to the worker's own copy
  bool send_delta = false;     // push the difference to the last pulled values instead of gradients
  float delta_factor = 1;      // elastic: the part of the difference that moves
  Version at_least = 0;        // the pull waits for this version
};

class DLHOST_API Consistency : public Plugin {
 public:
  static constexpr Kind kind = Kind::consistency;

  struct Traits {
    // Whether the groups' contributions make one update together: losses are then divided by all groups' samples. Else
    // each group makes its own updates.
    bool joint = false;
    bool by_step = false;         // groups are chosen for whole steps, instead of workers for each slice
    bool readers_overlap = false; // an update may run while a version is read: needs two buffers
    std::size_t own_words = 0;    // number of words in SliceState::own
    std::size_t words_each = 0;   // then so many for each contributor: at the start its number of steps, then zeros
    // The contract that simulation checks: a get by a worker that has made n steps contains all that each other worker
    // contributed in its first n - staleness steps, except dropped contributions.
    std::uint64_t staleness = 0;
    bool may_drop = false;
    bool folds = false; // some verdicts fold
  };
  virtual Traits traits() const = 0;

  virtual WorkerPlan plan(std::uint64_t step, Version have) const = 0;

  virtual GetVerdict on_get(const SliceState&, std::uint16_t group, std::uint16_t rank, Version at_least) = 0;
  virtual UpdateVerdict on_update(SliceState&, const Contribution&) = 0;
  // The run starts, or continues after a death, with this value and version. `own` has its initial values; nothing is
  // held.
  virtual void on_put(SliceState&);
  virtual UpdateVerdict on_member(SliceState&);
  // Called at next_timer() after the slice's last event; 0: never.
  virtual Nanoseconds next_timer(const SliceState&) const;
  virtual UpdateVerdict on_timer(SliceState&);
  // For a handler that folds. The run stands still, to be inspected or saved: held and folded contributions go into the
  // present version with this weight.
  virtual float weight_at_pause(const SliceState&) const;
};

} // namespace dlhost
