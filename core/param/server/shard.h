// A server: owns slices, and makes their versions of the workers' contributions. It takes a message, finds the slice,
// and calls the part that the message is for:
//
//   Contributors      the workers that contribute, and which of them still make steps
//   SliceContributors those that contribute to a slice: not all, if only some workers of a group hold its param
//   SliceVersions     a slice's versions among the masters' values
//   SliceDecisions    what becomes of a slice's contributions: the consistency handler decides about each of them, or
//                     (StepChoices) the chooser about whole steps
//   VersionMaker      makes a slice's version of the contributions that are due
//   GradientSums      sums a slice's gradients over all server groups, if these make the same versions
//   GradientNorm      the norm of all gradients, if the updater clips by it
//   ParamSums         the updater's sums over a param that is cut
//   SliceRequests     a slice's open requests, and when they are answered (Answers)
//   ValueExchange     exchanges values with other server groups
//   Ledger            records the contributions of each version
//
// A version is made in this order: contributions become due; then come the three sums, as far as the version needs
// them; then the version is written, recorded and published; then the requests for it are answered.
//
// Thread: the task that brings it messages. Reads and writes values and gradients in place. Does not allocate after
// make().
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <dlhost/consistency.h>

#include "param/codec/coder.h"
#include "param/exchange/gradient_sums.h"
#include "param/exchange/group_sync.h"
#include "param/message/protocol.h"
#include "param/server/answers.h"
#include "param/server/arrivals.h"
#include "param/server/contributors.h"
#include "param/server/ledger.h"
#include "param/server/send.h"
#include "param/server/slice_contributors.h"
#include "param/server/slice_decisions.h"
#include "param/server/slice_requests.h"
#include "param/server/slice_versions.h"
#include "param/server/step_choices.h"
#include "param/server/surviving_versions.h"
#include "param/server/value_exchange.h"
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
  std::uint32_t epoch = 0;          // the attempt of the run
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
  SendWith send_with; // null: there is one machine
  Show show;          // null: there is one machine
  ShowOwn show_own;
};

class Shard {
 public:
  static Result<std::unique_ptr<Shard>> make(ShardSetup);

  // Errors: corrupt if the message is invalid; internal if the handler breaks its contract.
  Status take(std::uint32_t from, const ToServer&);
  Status take(std::uint32_t from, const ToNeighbour&);
  // Starts with the values that are in the masters.
  void begin(const StartPoint&);
  // From now on, the ledger records the contributions of each version.
  // `server`: its number among the servers of all groups. `before`: the text that is in the file already.
  Status keep_ledger(std::unique_ptr<LogFile>, std::uint32_t server, const StartPoint&, std::string_view before = {});

  // Joins a run that the other groups have continued: asks them for the values, and sends `Joined` to the run's leader
  // when it has them. `number`: of these processes.
  Status join(std::uint32_t number);
  // The server group `rank` is lost; new processes have replaced it.
  Status lose(std::uint32_t rank);
  Status replace(std::uint32_t rank, std::span<std::byte> memory, std::uint32_t order);

  // The number of the last alignment of its slices with those of other server groups.
  std::uint64_t times_aligned() const { return exchange_->sync() ? exchange_->sync()->times_aligned() : 0; }

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
  struct Owned {
    Owned(std::size_t which, const SliceContributors& from, SliceVersions::Setup of)
        : which(which), contributors(from), versions((of.contributors = &contributors, of)) {}

    const std::size_t which; // the index among the owned slices
    const SliceContributors contributors;
    SliceVersions versions;
    std::unique_ptr<VersionMaker> maker;
    std::optional<SliceDecisions> decisions;
    std::optional<SliceRequests> requests;
    std::optional<ParamSums> sums; // set if the param is cut and the updater needs sums over it
  };

  explicit Shard(ShardSetup setup);
  Status make_exchange(std::span<const Slice* const> owned);
  Status own(const Slice&, const Updater::Rule&);
  Status make_room();
  bool is_of_chooser(std::uint32_t from) const { return choices_ && from == setup_.seats.front(); }
  Result<Owned*> find(SliceId);

  Status take_one(std::uint32_t from, const to_server::Update&);
  Status take_one(std::uint32_t, const to_server::Get& get) { return request(get); }
  Status take_one(std::uint32_t, const to_server::Look& look) { return request(look); }
  Status take_one(std::uint32_t, const to_server::Settle& settle) { return request(settle); }
  Status take_one(std::uint32_t from, const to_server::Chosen&);
  Status take_one(std::uint32_t from, const to_server::Dropped&);
  Status take_one(std::uint32_t from, const to_server::Folded&);
  Status take_one(std::uint32_t from, const to_server::Norm&);
  Status take_one(std::uint32_t from, const to_server::Sum&);
  Status take_one(std::uint32_t from, const to_server::Leave&);
  Status take_one(std::uint32_t from, const to_server::Align&);
  Status take_one(std::uint32_t from, const to_server::AlignThrough&);
  Status take_one(std::uint32_t from, const to_server::Attest&) { return answers_.attest(from); }
  template <class Request> Status request(const Request&);
  // Errors: corrupt if the sender is not the chooser.
  Result<std::size_t> late(std::uint32_t from, WorkerId) const;
  // A step of the contributor is late: its updates may have arrived, or be still to come.
  Status go_on_late(std::size_t contributor, bool folds);

  // Continues after a decision about `arrived`; null: about held contributions.
  Status go_on(Owned&, const Received* arrived, SliceDecisions::Outcome);
  // Makes the next version of the due contributions: now, or when the sums that it needs are known.
  Status make(Owned&);
  // Adds the due contributions of the other server groups, which make the same versions. Called whenever a message has
  // arrived that the sum may wait for.
  Status sum_up(Owned&);
  Status make_of_sum(Owned&);
  Status clip();
  Status say_sums(Owned&);
  Status apply_summed(Owned&);
  Status apply(Owned&, std::span<const double> sums = {});
  Status apply_chosen(Owned&);
  // Adds the folded contributions to the present version.
  Status amend(Owned&, float weight);
  // The due and the folded contributions, for the ledger.
  std::span<const Ledger::Part> parts_of(const Owned&);

  ShardSetup setup_;
  Contributors contributors_;
  const Consistency::Traits traits_; // of the job's handler; `by_step` is the same in all handlers
  const ContributionKind kind_;      // of contributions that are neither encoded nor factors
  AddRule addition_;                 // replaces the updater if contributions are differences
  Answers answers_;
  std::optional<StepChoices> choices_; // set if the handler chooses whole steps
  std::optional<SurvivingVersions> published_;
  std::optional<Ledger> ledger_;
  std::vector<Ledger::Part> parts_; // of one version
  Arrivals arrivals_;
  std::uint64_t repeated_ = 0;
  std::unique_ptr<GradientSums> sums_; // null: server groups do not sum their gradients
  std::unique_ptr<ValueExchange> exchange_;
  std::optional<GradientNorm> norm_;        // set if the updater clips by it
  std::deque<Owned> owned_;                 // stays in place, because its parts refer to one another
  std::vector<std::size_t> owned_by_slice_; // per slice of the table: index in owned_; not_owned: another server's
  Memory room_;                             // scratch memory for the product of factors
};

} // namespace dlhost::param
