// A server: the slices that it owns, and what becomes of the contributions to them. The consistency handler decides,
// the updater's rule is applied, and whoever asked for a version hears of it. Where the rule, or clipping, needs sums
// over more than a slice, servers tell one another theirs before they apply anything (agreed_sums.h): contributions are
// then due until these are known.
//
// A shard belongs to the task that brings it messages; values and gradients it reads and writes where they lie. After
// make() it allocates nothing.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <dlhost/consistency.h>

#include "param/codec/coder.h"
#include "param/exchange/agreed_sums.h"
#include "param/exchange/gradient_sums.h"
#include "param/exchange/group_sync.h"
#include "param/message/protocol.h"
#include "param/server/arrivals.h"
#include "param/server/late_sum.h"
#include "param/server/ledger.h"
#include "param/server/surviving_versions.h"
#include "param/store/add_rule.h"
#include "param/store/factored_update.h"
#include "param/store/slice_update.h"
#include "param/table/handlers.h"
#include "param/table/slices.h"
#include "param/table/start_point.h"
#include "param/table/table_memory.h"
#include "plugin/activity.h"

namespace dlhost::param {

// A worker as servers see it.
struct Contributor {
  std::uint16_t group = 0, rank = 0;
  std::uint32_t seat = 0;
  std::span<const std::byte> sent; // its memory, where the places of its updates lie
  std::uint32_t machine = 0;
};

struct ShardSetup {
  std::uint32_t server = 0; // which of its group
  std::uint32_t machine = 0;
  std::vector<std::uint32_t> seats; // of the group's servers
  const Slices* slices = nullptr;
  const Masters* masters = nullptr; // which it writes
  std::span<std::byte> published;   // its memory for what outlives it; empty: nothing is to
  bool versions_outlive = true;     // then each version does; else what it told other server groups that it learned
  Store* store = nullptr;           // that borrows them
  std::vector<Contributor> contributors; // by group, then by rank
  std::uint32_t groups = 1;              // of workers, whose contributions come here
  Handlers handlers;
  const Updater* updater = nullptr;
  const plugin::Actor* updater_actor = nullptr;
  UpdateSettings update_settings;       // clip_norm: only where all slices make their versions together
  CodecUse codec;                       // coding: null where nothing is encoded
  std::optional<GroupSync::Setup> sync; // where there are other server groups, with which something is exchanged
  bool alike = false;                   // which make the same versions
  plugin::Activity* activity = nullptr;
  std::function<Status(std::uint32_t seat, const Message&)> send;
  // The same, with part of the masters, for a seat of another machine; and such a part by itself, wherever that is.
  // Null: all are on one machine.
  std::function<Status(std::uint32_t seat, const Message&, std::span<const std::byte> params)> send_with;
  std::function<Status(std::uint32_t seat, std::span<const std::byte> part, record::Cargo)> show;
  // And a part of this worker's memory.
  std::function<Status(std::uint32_t seat, std::span<const std::byte> part)> show_own;
};

class Shard {
 public:
  static Result<std::unique_ptr<Shard>> make(ShardSetup);

  // What a worker, the chooser or another server says.
  Status take(const Message&);
  // With what was put.
  void begin(const StartPoint&);
  // From now on, what makes each version is written down.
  // `server`: which it is of all server groups.
  // `before`: what lies in the file already.
  Status keep_ledger(std::unique_ptr<LogFile>, std::uint32_t server, const StartPoint&, std::string_view before = {});

  // Others have begun before: it asks them for the values, and says to the run's leader when these are there.
  Status join(std::uint32_t number);
  // Another server group, with its server of these slices, is gone; or others have taken its place.
  Status lose(std::uint32_t rank);
  Status replace(std::uint32_t rank, std::span<std::byte> memory, std::uint32_t number);

  // Updates that were not taken, since they had been counted before.
  std::uint64_t repeated() const { return repeated_; }
  // To its slices; where whole steps are chosen the chooser counts.
  const Arrivals& arrivals() const { return arrivals_; }

  // The norm of all gradients in the newest version of its group; none: norms are not computed.
  std::optional<double> gradient_norm() const { return last_norm_; }

  // Of its first slice; 0: it has none.
  Version version() const { return owned_.empty() ? 0 : owned_.front().version; }
  // What the next version of a slice of its own waits for, and on which seat; none: on several.
  struct MissingContribution {
    enum class What : std::uint8_t { contribution, norm, sum, exchange };
    What what = What::contribution;
    std::optional<std::uint32_t> seat;
  };
  MissingContribution lack(SliceId) const;

 private:
  struct Arrival {
    Contribution contribution;
    std::size_t contributor = 0;
    double rate = 0;
  };
  struct Waiting {
    std::size_t contributor = 0;
    Version at_least = 0;
  };
  struct Asked { // a look or a settle
    std::size_t contributor = 0;
    Word word = Word::look;
    Version at_least = 0;
  };
  static constexpr std::size_t nothing = ~std::size_t{0};
  struct Owned {
    const Slice* slice = nullptr;
    const Handler* handler = nullptr; // its param's
    Consistency::Traits traits;       // of that
    Version version = 0;
    std::size_t current = 0;          // which of the masters' values it is
    std::size_t history = 0;          // and which copy of its histories
    std::vector<std::size_t> read;    // which each contributor reads; nothing: none
    std::uint64_t revision = 0;       // grows when the value becomes another
    std::vector<std::uint64_t> shown; // of each machine: which it has
    std::vector<Arrival> held;
    std::vector<Contribution> seen; // the held ones, as the handler sees them
    std::vector<Waiting> waiting;
    std::vector<Arrival> due;         // what makes the next version, all of it
    UpdateVerdict verdict;            // on them
    std::unique_ptr<Decoder> decoder; // where they are encoded
    const float* decoded = nullptr;   // their sum, then
    std::unique_ptr<LateSum> folded;  // where the handler folds
    enum class Sum : std::uint8_t { none, waits, on, whole };
    Sum sum = Sum::none;                               // of what is due, with the other server groups'
    double square = 0;                                 // of the norm of their sum, where that clips
    std::optional<AgreedSums> sums;                    // where the updater needs some of a param that is cut
    std::vector<Asked> asked;                          // while something is due, or exchanged
    bool exchanged = false;                            // an exchange is over, and not yet in the value
    bool aligns = false;                               // the run's leader is to hear when it is aligned
    std::vector<std::uint64_t> own;                    // the handler's words
    std::vector<std::uint64_t> accepted;               // of each contributor: steps below this one have come
    std::vector<std::uint64_t> applied;                // and below this one are in the version, or make none
    std::vector<std::unique_ptr<SliceUpdate>> updates; // of one contribution, of two, ...
    std::unique_ptr<FactoredUpdate> factored;          // instead of these, where contributions are factors
  };

  // Whose contributions make a version of all slices, as the chooser says.
  struct Choice {
    Version version = 0;
    float weight = 1, rate_factor = 1;
    std::size_t count = 0;
    std::vector<std::pair<std::size_t, std::uint64_t>> members; // contributors and their steps, so far
    bool whole() const { return count > 0 && members.size() == count; }
  };

  explicit Shard(ShardSetup setup);
  Status own(const Slice&, const Updater::Rule&);
  Status prepare_updates(Owned&, const Updater::Rule&);
  Status make_room();
  ContributionKind kind_of(const Owned&) const;
  void find_peers();
  Status make_sync();
  bool sums_gradients() const {
    return setup_.sync && setup_.sync->neighbours.sync->traits().of == Sync::Traits::Of::gradients;
  }
  Result<std::size_t> contributor(const Message&) const;
  bool is_of_chooser(const Message& message) const { return traits_.by_step && message.seat == setup_.seats.front(); }
  std::string named(std::size_t contributor, const Slice&) const;
  Result<std::span<const std::byte>> sent(const Owned&, const Message&, std::size_t contributor) const;
  void put(Owned&);
  Status update(Owned&, const Message&);
  Status get(Owned&, const Message&);
  Status asked(Owned&, const Message&);
  Status answer(Owned&, std::size_t contributor, Word);
  // What the updater and exchanges keep beside a version.
  Status show_kept(const Owned&, std::uint32_t seat);
  float* value(const Owned&, std::size_t which) const;
  Result<std::size_t> room(const Owned&) const;
  std::size_t next_history(const Owned&) const;
  Status leave(std::size_t contributor);
  Status choose(const Message&);
  // Of a step that makes no version: what has come, and what will.
  Status hear_late(const Message&);
  bool is_undecided(const Owned&, std::size_t contributor) const;
  Status fold(Owned&, const Arrival&, float weight);
  // Due, or folded in: it is in the version, from now on.
  void count_in(Owned&);
  // What was folded goes into the version that is there.
  Status amend(Owned&, float weight);
  Status apply_chosen(Owned&);
  // `arrived`: what it is about; null: what is held.
  Status decide(Owned&, const Arrival* arrived, const UpdateVerdict&);
  // The next version is to be made of what is due: now, or when the sums are known that it needs.
  Status make(Owned&, const UpdateVerdict&);
  Status decode(Owned&);
  // Where server groups make the same versions: with what is due in the others.
  Status sum_up(Owned&);
  Status make_of_sum(Owned&);
  // With other server groups.
  bool is_on(const Owned&) const;
  Status hear_neighbour(Owned&, const Message&);
  Status hear_of_groups();
  Status say_joined();
  Status exchange(Owned&);
  Status conclude(Owned&);
  Status conclude_and_tell(Owned&);
  Status go_on_exchanging();
  Status align(const Message&);
  Status attest(const Message&);
  Status align_through(const Message&);
  Status say_aligned();
  Status answer_asked(Owned&, const Asked&);
  Status answer_settled(Owned&);
  bool is_unsettled(const Owned&, const Asked&) const;
  Status say_norm(Owned&);
  Status hear_norm(const Message&);
  Status clip();
  Status say_sums(Owned&);
  Status hear_sums(const Message&);
  Status apply_summed(Owned&);
  std::span<const float* const> gradients_of(const Owned&);
  SliceUpdate::Run run_of(const Owned&, std::size_t next);
  static SliceUpdate& update_of(const Owned&, const SliceUpdate::Run&);
  std::span<const Ledger::Part> parts_of(const Owned&);
  Status write(Owned&, std::span<const double> sums);
  Status apply(Owned&, std::span<const double> sums = {});
  // What is in the version outlives this server from now on.
  void publish(const Owned&);
  // And what was learned until then, which lies at that place of this worker's memory.
  Status publish_learned(const Owned&, Version, std::uint64_t place);
  Status answer_waiting(Owned&);
  // Not ok: the handler serves what is older than its traits promise.
  Status is_fresh(const Owned&, std::size_t asks) const;
  SliceState state(Owned&, std::size_t contributor) const;

  ShardSetup setup_;
  Clients clients_;
  std::vector<bool> in_;                 // of the contributors, those that still make steps
  const Consistency::Traits traits_;     // of the job's handler: whether whole steps are chosen, all agree on
  ContributionKind kind_;                // of contributions, but for those that are encoded, or factors
  AddRule addition_;                     // of deltas, for which it takes the updater's place
  std::vector<Choice> choices_;          // a ring, by version
  std::vector<std::uint64_t> forgotten_; // of each contributor: steps below this one make no version any more
  std::vector<float> late_weights_;      // and with this weight the last of them is folded in; 0: dropped
  std::vector<Owned> owned_;
  Memory room_;                             // where factors are multiplied
  std::vector<std::size_t> owned_by_slice_; // of all slices; not_owned: another server's
  std::vector<const float*> gradients_;     // of one update
  std::vector<std::uint32_t> peers_;        // all servers of the group that own slices, this one as well
  std::optional<double> last_norm_;         // of the newest version
  std::optional<AgreedSums> norm_;          // of the gradients of all, where that clips
  std::size_t due_ = 0;                     // of its slices, for the next version
  std::uint64_t repeated_ = 0;
  Arrivals arrivals_;
  std::unique_ptr<GroupSync> sync_;    // of values that server groups make for themselves; null: they do not
  std::uint32_t joins_ = 0;            // sequence number of this replaced group, until it has joined; 0: it has
  std::unique_ptr<GradientSums> sums_; // of all of them, where they make the same versions
  std::optional<SurvivingVersions> published_;
  std::optional<Ledger> ledger_;
  std::vector<Ledger::Part> parts_; // of one version
};

} // namespace dlhost::param
