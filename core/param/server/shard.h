// A server: owns slices, and makes their versions of the workers' contributions. For each contribution the consistency
// handler decides. The shard applies the updater's rule, and answers the workers that asked for the version. If the
// rule or clipping needs sums over more than one slice, the servers first send one another theirs (agreed_sums.h);
// until these are known, the contributions of the next version are "due".
//
// Thread: the task that brings it messages. Reads and writes values and gradients in place. Does not allocate after
// make().
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <dlhost/consistency.h>

#include "param/codec/coder.h"
#include "param/exchange/gradient_sums.h"
#include "param/exchange/group_sync.h"
#include "param/message/protocol.h"
#include "param/server/arrivals.h"
#include "param/server/contributors.h"
#include "param/server/ledger.h"
#include "param/server/send.h"
#include "param/server/slice_decisions.h"
#include "param/server/slice_versions.h"
#include "param/server/step_choices.h"
#include "param/server/surviving_versions.h"
#include "param/server/version_maker.h"
#include "param/server/version_sums.h"
#include "param/store/add_rule.h"
#include "param/table/handlers.h"
#include "param/table/slices.h"
#include "param/table/start_point.h"
#include "param/table/table_memory.h"
#include "plugin/activity.h"

namespace dlhost::param {

struct ShardSetup {
  std::uint32_t server = 0; // its number in its group
  std::uint32_t machine = 0;
  std::vector<std::uint32_t> seats; // of the group's servers
  const Slices* slices = nullptr;
  const Masters* masters = nullptr;      // of its group; it writes its own slices
  std::span<std::byte> published;        // memory for the state that outlives this server; empty: none does
  bool versions_outlive = true;          // true: each version outlives it; false: the changes it sent to other groups
  Store* store = nullptr;                // borrows the masters
  std::vector<Contributor> contributors; // by group, then by rank
  std::uint32_t groups = 1;              // worker groups that contribute to this server
  Handlers handlers;
  const Updater* updater = nullptr;
  const plugin::Actor* updater_actor = nullptr;
  UpdateSettings update_settings;       // clip_norm > 0 requires that all slices make their versions together
  CodecUse codec;                       // coding: null if contributions are not encoded
  std::optional<GroupSync::Setup> sync; // set if slices are exchanged with other server groups
  bool alike = false;                   // all server groups make the same versions
  plugin::Activity* activity = nullptr;
  Send send;
  // Sends a message, and before it a part of the masters, to a seat of another machine. Null: there is one machine.
  std::function<Status(std::uint32_t seat, const Message&, std::span<const std::byte> params)> send_with;
  // Shows a part of the masters to a seat of any machine. Null: there is one machine.
  std::function<Status(std::uint32_t seat, std::span<const std::byte> part, record::Cargo)> show;
  // Shows a part of this worker's memory.
  std::function<Status(std::uint32_t seat, std::span<const std::byte> part)> show_own;
};

class Shard {
 public:
  static Result<std::unique_ptr<Shard>> make(ShardSetup);

  // Takes a message. Errors: corrupt if it is invalid; internal if the handler breaks its contract.
  Status take(const Message&);
  // Starts with the values that are in the masters.
  void begin(const StartPoint&);
  // From now on, the ledger records the contributions of each version.
  // `server`: its number among the servers of all groups. `before`: the text that is in the file already.
  Status keep_ledger(std::unique_ptr<LogFile>, std::uint32_t server, const StartPoint&, std::string_view before = {});

  // Joins a run that the other groups have continued: asks them for the values, and sends `joined` to the run's leader
  // when it has them. `number`: as in Joining.
  Status join(std::uint32_t number);
  // The server group `rank` is lost; new processes have replaced it.
  Status lose(std::uint32_t rank);
  Status replace(std::uint32_t rank, std::span<std::byte> memory, std::uint32_t number);

  // Updates that were dropped because they repeat earlier ones.
  std::uint64_t repeated() const { return repeated_; }
  // Contributions to its slices. If whole steps are chosen, the chooser counts instead.
  const Arrivals& arrivals() const { return arrivals_; }

  // The norm of all gradients in the newest version of its group. None: norms are not computed.
  std::optional<double> gradient_norm() const { return norm_ ? norm_->last() : std::nullopt; }

  // The version of its first slice. 0: it has no slice.
  Version version() const { return owned_.empty() ? 0 : owned_.front().versions.newest(); }
  // The reason why a slice has no next version yet, and the seat that it waits for. No seat: it waits for several.
  struct MissingContribution {
    enum class What : std::uint8_t { contribution, norm, sum, exchange };
    What what = What::contribution;
    std::optional<std::uint32_t> seat;
  };
  MissingContribution lack(SliceId) const;

 private:
  struct Waiting {
    std::size_t contributor = 0;
    Version at_least = 0;
  };
  struct Asked { // a `look` or `settle` without an answer yet
    std::size_t contributor = 0;
    Word word = Word::look;
    Version at_least = 0;
  };
  struct Owned {
    explicit Owned(const SliceVersions::Setup& of) : slice(of.slice), versions(of) {}

    const Slice* slice;
    SliceVersions versions;
    std::vector<Waiting> waiting;
    std::unique_ptr<VersionMaker> maker;
    std::optional<SliceDecisions> decisions;
    std::optional<ParamSums> sums; // set if the param is cut and the updater needs sums over it
    std::vector<Asked> asked;      // requests without an answer yet
    bool exchanged = false;        // an exchange is over, but not in the value yet
    bool aligns = false;           // `aligned` is to be sent to the run's leader
  };

  explicit Shard(ShardSetup setup);
  Status own(const Slice&, const Updater::Rule&);
  Status make_room();
  Status make_sync();
  bool sums_gradients() const {
    return setup_.sync && setup_.sync->neighbours.sync->traits().of == Sync::Traits::Of::gradients;
  }
  bool is_of_chooser(const Message& message) const { return traits_.by_step && message.seat == setup_.seats.front(); }
  std::string named(std::size_t contributor, const Owned&) const;
  Status update(Owned&, const Message&);
  Status get(Owned&, const Message&);
  Status asked(Owned&, const Message&);
  Status answer(Owned&, std::size_t contributor, Word);
  // Shows the histories and the rows of exchanges to a seat.
  Status show_kept(const Owned&, std::uint32_t seat);
  Status leave(const Message&);
  Status choose(const Message&);
  // Takes `dropped` or `folded`: for updates of that step that have arrived, and for those still to come.
  Status hear_late(const Message&);
  // Adds the folded contributions to the present version.
  Status amend(Owned&, float weight);
  Status apply_chosen(Owned&);
  // Continues after a decision about `arrived`; null: about held contributions.
  Status go_on(Owned&, const Received* arrived, SliceDecisions::Outcome);
  // Makes the next version of the due contributions: now, or when the sums that it needs are known.
  Status make(Owned&);
  // Adds the due contributions of the other server groups, which make the same versions.
  Status sum_up(Owned&);
  Status make_of_sum(Owned&);
  // True if an exchange of the slice with other server groups is on.
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
  Status hear_norm(const Message&);
  Status clip();
  Status say_sums(Owned&);
  Status hear_sums(const Message&);
  Status apply_summed(Owned&);
  // The due and the folded contributions, for the ledger.
  std::span<const Ledger::Part> parts_of(const Owned&);
  Status apply(Owned&, std::span<const double> sums = {});
  // From now on, the version outlives this server.
  void publish(Owned&);
  // From now on, the server's own changes up to this version outlive it. `place`: in this worker's memory.
  Status publish_learned(Owned&, Version, std::uint64_t place);
  Status answer_waiting(Owned&);
  // Errors: internal if the handler serves an older version than its traits promise.
  Status is_fresh(const Owned&, std::size_t asks) const;

  ShardSetup setup_;
  Contributors contributors_;
  const Consistency::Traits traits_;        // of the job's handler; `by_step` is the same in all handlers
  ContributionKind kind_;                   // of contributions that are neither encoded nor factors
  AddRule addition_;                        // replaces the updater if contributions are differences
  std::optional<StepChoices> choices_;      // set if the handler chooses whole steps
  std::deque<Owned> owned_;                 // stays in place, because its parts refer to one another
  Memory room_;                             // scratch memory for the product of factors
  std::vector<std::size_t> owned_by_slice_; // per slice of the table: index in owned_; not_owned: another server's
  std::optional<GradientNorm> norm_;        // set if the updater clips by it
  std::uint64_t repeated_ = 0;
  Arrivals arrivals_;
  std::unique_ptr<GroupSync> sync_;    // exchanges values among server groups; null: there are no such exchanges
  std::uint32_t joins_ = 0;            // sequence number of this replaced group while it joins; else 0
  std::unique_ptr<GradientSums> sums_; // sums gradients over all groups, if they make the same versions; else null
  std::optional<SurvivingVersions> published_;
  std::optional<Ledger> ledger_;
  std::vector<Ledger::Part> parts_; // of one version
};

} // namespace dlhost::param
