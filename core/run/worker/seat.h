// A worker's seat among the others: its post, its share of the table's memory, the server that may be beside it, and
// the words by which leaders move their workers from step to step.
//
//   open()   while its program is made: memory for what is shared; that of its servers is made by the first of those
//            whom they serve
//   join()   when all have theirs: connects, and prepares the server's updates
//   then     leaders say go() and gather what was done; the others wait for next()
//
// The first seat leads the run: it alone evaluates, saves and tells. Where all contributions make each update together
// and nobody is ahead, it says each step to all; else the first worker of each group leads its group, which makes steps
// by itself while it is free.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <dlhost/codec.h>
#include <dlhost/consistency.h>
#include <dlhost/transport.h>

#include "param/table/device_sums.h"
#include "param/table/shared_params.h"
#include "param/table/table.h"
#include "record/workers_log.h"
#include "run/membership/address_book.h"
#include "run/session/session.h"
#include "run/worker/pinned.h"
#include "run/worker/vitals.h"
#include "run/worker/worker_layout.h"

namespace dlhost::run {

class Seat final : public param::SharedParams, public param::DeviceSums, private param::ControlHandler {
 public:
  static Result<std::unique_ptr<Seat>> make(Session&, AddressBook&, std::uint32_t number);
  ~Seat() override;

  const plan::Place& place() const { return place_; }
  Host& host() const { return session_.host(); }
  bool joint() const { return exchange_.joint; } // all groups' contributions make an update together
  bool leads() const { return number_ == 0 || (!exchange_.in_step && place_.rank == 0); }

  Bytes bytes(const param::Store& store) const override { return layout_.bytes(store); }
  Status open(param::Store&) override;
  std::optional<param::Factors> factors(const param::Param& param, const param::Factors& own,
                                        const param::Pieces& pieces) const override {
    return layout_.factors(param, own, pieces);
  }
  std::span<std::byte> contribution(const param::Param&) override;
  Status update(const param::Param& param, std::uint64_t step, double rate) override {
    return table_->update(param.number, step, rate);
  }
  Status end_step(std::uint64_t step) override { return table_->end_step(step); }
  Status collect(const param::Param& param) override { return table_->collect(param.number); }
  void converts(bool begins) override { table_->converts(begins); }
  Status progress() override { return table_->progress(); }
  std::optional<double> gradient_norm() const override;
  void beat() override;
  Peers& peers() override { return *peers_; }
  Status wait_for_device(const std::function<Result<bool>()>& done) override;
  std::vector<std::vector<param::TensorPlace>> own_values() override;
  std::vector<std::vector<param::TensorPlace>> values_elsewhere() override;

  Status join();
  Status begin(const param::StartPoint&);
  // The run's leader's, when all know where they begin: what they begin with is there, also on other machines.
  Status put();
  // Where each has all params for itself: all get the leader's, and what its updater keeps, by their devices.
  Status spread_params();
  // For who waits elsewhere: others miss what was lost on its way to them, and say so.
  Status see_what_was_lost();
  // Whether something outlives those that serve: else nobody needs to wait for them to end.
  bool can_salvage() const { return exchange_.versions_outlive && !begun_.steps.empty(); }

  // A leader's.
  Status go(std::uint64_t step, double rate);
  // Until those whose metrics count have computed the step; adds their sums.
  Status gather(std::uint64_t step, std::vector<program::Metric>&);
  // Nobody that it leads computes when it returns, and all that they sent is with its servers.
  Status hold();
  Status stop();
  // Until what was said has left, but not for long.
  void await_sent();

  // The run's leader's: other groups may make steps up to this one by themselves; until all have.
  Status free(std::uint64_t until);
  Status wait_for_groups(std::uint64_t steps);
  // After hold(), where it is decided whose steps count: the others make no more, so that nothing of the leader's group
  // waits for them in vain.
  Status conclude();
  // Where all of them were at the last hold(); before that, where they began.
  const param::StartPoint& reached() const { return reached_; }
  // All servers have what they know on the disk; heads() are those of their ledgers then.
  Status attest();
  // After attest() or salvage().
  const record::LedgerHeads& heads() const { return heads_; }
  // After hold(): running state becomes the same everywhere.
  Status merge_states();
  // When one of the others is gone, and nobody computes or serves any more: the store has what outlived them, newest
  // first; where groups make each step together, what all slices have. Only where it can. Not found: servers had not
  // begun.
  Result<param::StartPoint> salvage();

  // Where the others go on without a server group that is lost (replacing.h); the run's leader's. `look`: called
  // whenever it waits. Not ok: it does not go on.
  bool mends() const;
  void look_after_lost(std::function<Status()> look) { look_ = std::move(look); }
  bool has_lost() const { return std::ranges::find(lost_, true) != lost_.end(); }
  bool has_lost(std::uint32_t server_group) const;
  bool has_lost_all(std::uint32_t server_group) const;
  std::vector<std::uint32_t> seats_of(std::uint32_t server_group) const;
  // Where a group goes on that takes the place of a lost one: with what that had learned, as others may have heard it.
  param::StartPoint left_by(std::uint32_t server_group) const;
  // All are to reach its new processes, which have come; not while the others stand still.
  bool may_admit() const { return !holds_ && !admission_; }
  // The cards of its processes may go: those that are let in now read the cards of all, and all read theirs.
  bool may_restart(std::uint32_t server_group) const {
    return !admission_ || (admission_->server_group == server_group && is_reached());
  }
  Status admit(std::uint32_t server_group, param::Joining);
  bool is_reached() const; // by all
  param::Joining joining() const;
  bool has_joined() const; // its values are there
  // It makes steps now. One that was lost meanwhile is given up instead.
  Status release();
  void give_up_admission() { admission_.reset(); }
  // How long others stood still since that was asked last because a group was lost.
  Nanoseconds take_stood_still() { return std::exchange(stood_still_, 0); }
  // Of each worker, as it shows them.
  std::vector<std::uint64_t> steps_shown() const;
  // At the last hold(), all had made so many.
  bool have_all_made(std::uint64_t steps) const;

  // Of a group's leader that is not the run's: how many steps it may make by now; none: it is over.
  Result<std::optional<std::uint64_t>> freed(std::uint64_t done);

  // Of who does not lead.
  struct Go {
    std::uint64_t step;
    double rate;
  };
  Result<std::optional<Go>> next(); // none: it is over
  Status done(std::uint64_t step, const std::vector<program::Metric>&);

  // This one computes and serves no more.
  void retire();
  // Until none of the others does. `end`: of those that do not come to it.
  void await_retirement(const std::function<void(std::uint32_t seat)>& end);

  // Around what may take long in silence.
  void set_away(bool away);
  // Those of other machines see that, before it looks at nothing else for long.
  Status show_away();
  // What others are to see of its steps.
  void show(const StepTimes& times) { vitals(number_).show(times); }
  // Of each worker.
  std::vector<record::WorkerReport> reports() const;

  bool stopped() const { return stopped_; }
  // What the others are to hear.
  void fail(const Status&);
  // Until the leader has stopped all, or told those that were about to begin why they do not, or is gone itself; not
  // for long.
  void await_end();

  // Seats whose task or process is no longer there.
  std::vector<std::uint32_t> gone() const { return post_ ? post_->gone() : std::vector<std::uint32_t>(); }
  const param::Table::Times& times() const { return table_->times(); }
  // At all servers, where some may come too late: groups' steps, or, where they are chosen slice by slice,
  // contributions to slices.
  param::Arrivals arrivals() const;
  // By this worker: what went through a codec, and what was left as factors.
  record::Traffic encoded() const {
    return table_ && exchange_.encodes != Encodes::exchanges ? table_->encoded() : exchanged_;
  }
  record::Traffic factored() const { return table_ ? table_->factored() : record::Traffic(); }

 private:
  Seat(Session& session, AddressBook& address_book, plan::ExchangePlugins plugins, std::uint32_t number);
  Result<std::unique_ptr<Transport>> transport() const;
  Result<std::unique_ptr<Transport>> network() const;
  std::optional<param::EncryptedEndpoint::What> sealed() const; // of what goes to other machines
  Result<std::string> convened() const;                         // by its device
  Status join_peers();
  bool all_wait_for_sums() const;
  // What servers have made, or learned, lies where it outlives them.
  bool publishes() const { return exchange_.versions_outlive || mends(); }
  // The first worker that a server group serves, and that group's servers.
  std::uint32_t home_of(std::uint32_t server_group) const { return layout_.home_of(server_group); }
  std::vector<std::uint32_t> servers_of(std::uint32_t server_group) const;
  bool serves() const { return layout_.serves(); }
  param::Masters& lent_masters() const;
  const param::Masters& masters_of(std::uint32_t server_group) const;
  Status map_other_masters();
  Status map_masters_of(std::uint32_t server_group);
  // Other machines.
  bool has_near() const; // others of its own
  bool has_far() const { return far_; }
  std::uint32_t machine() const { return address_book_.machines()[number_]; }
  // Who made the masters of a server group for a machine, of those whom it serves there; none: nobody is served there.
  std::optional<std::uint32_t> remote_masters_of(std::uint32_t server_group, std::uint32_t machine) const;
  std::uint32_t server_group_of(std::uint32_t seat) const;
  std::size_t bytes_of(std::uint32_t seat) const; // of its memory
  Status make_mirrors(Contact&);
  Status find_mirrors();
  param::Post::Shown shown(std::uint32_t seat, std::size_t place, std::size_t bytes, record::Cargo) override;
  Result<param::Post::Shown> shown_masters(std::uint32_t server_group, std::uint32_t machine,
                                           std::span<const std::byte> part, record::Cargo) const;
  Status show_to_owner(std::uint32_t seat, std::span<const std::byte> part); // what this one wrote into a mirror
  Status show_masters(std::uint32_t server_group, std::uint32_t machine, std::span<const std::byte> part,
                      record::Cargo);
  // What a worker puts on the network in each step, as the plan of its slices and servers has it; none: how much that
  // is depends on how fast the others are.
  std::optional<record::Freight> foreseen(std::uint32_t seat) const;
  Status show_beginning(const param::StartPoint&);
  Status show_rest();
  // Of running state, by its place in the store.
  std::span<float> state_of(std::uint32_t seat, std::size_t place) const;
  std::span<std::byte> own_state(std::size_t place) const;
  // Where the others see it, and from there; nothing where it lies there.
  bool states_apart() const; // from where the others see them
  Status leave_states() { return copy_states(Direction::to_host); }
  Status land_states() { return copy_states(Direction::from_host); }
  Status copy_states(Direction);
  void pin(std::span<std::byte> memory);
  void spread_states();
  void show_vitals();
  void show_memory();
  Status await_shown();
  void fill_other_masters(const param::StartPoint&);
  std::vector<param::TensorPlace> kept_by_servers(std::uint32_t server_group);
  std::span<std::byte> newest_history(std::uint32_t server_group, std::size_t param, std::size_t slot);
  std::optional<param::GroupSync::Setup> sync_setup();
  using Groups = plan::Exchange::Groups;
  using Encodes = plan::Exchange::Encodes;
  Status align();
  Status align_those_left();
  Status align_exchanges();
  Status ask_what_is_undecided();
  Status see_where_all_are(); // while they rest
  void find_others();
  // Of each slice the version that a run goes on with.
  using Outlasting = std::vector<param::SurvivingVersions::Record>;
  // Of each worker, what its codec had kept when it had sent what is in that.
  std::vector<param::TensorPlace> kept_by_codec(std::uint32_t seat);
  Status find_heads();
  Result<std::optional<record::LedgerHead>> find_head(std::uint32_t server) const;
  Status find_heads_of_lost();
  // Of a lost server group.
  std::optional<Version> learned_by(std::uint32_t server_group, const param::Slice&, std::span<float> learned) const;
  param::SurvivingVersions published_of(std::uint32_t server_group, const param::Slice&) const;
  Status lose_group(std::uint32_t server_group);
  Status hear_lost(const param::Message&);
  Status hear_join(const param::Message&);
  Status hear_joined(const param::Message&);
  Status reach(std::uint32_t seat, const Contact&);
  void reach_or_lose(std::uint32_t seat, const Contact&);
  Status bring_values(); // that those who have begun before have
  // The same, where all else is.
  void count_left(std::uint32_t server_group, param::StartPoint&) const;
  void count_lost_in(param::StartPoint&) const;
  Result<Outlasting> outlasting(std::uint32_t server_group) const;
  std::span<std::byte> outlasted(std::size_t param, const std::vector<Outlasting>&);
  param::StartPoint reached_by(const std::vector<Outlasting>&) const;
  void count_chosen(std::vector<param::StartPoint::OfSlice>&) const;
  // `copies`: of params whose slices lie in several places.
  std::span<std::byte> gathered(std::size_t param,
                                const std::function<std::span<std::byte>(const param::Slice&)>& where,
                                std::vector<std::vector<std::byte>>& copies);
  std::span<std::byte> published(std::uint32_t seat) const;
  std::optional<param::SurvivingVersions> published_by(std::uint32_t server_group, const param::Slice&) const;
  Status connect();
  Status make_shard();
  Status keep_ledger(const param::StartPoint&);
  Status hear_attested(const param::Message&);
  Result<std::unique_ptr<param::Replica>> make_replica();
  param::CodecUse codec_use() const;
  Status take(const param::Message&) override;
  bool calls() const override { return holder_.has_value(); }
  Status attend() override;
  Status watch() override;
  Result<bool> lose(std::uint32_t seat) override;
  Awaited awaited() const; // by this one, at this moment
  std::string awaited_by(std::uint32_t seat) const;
  std::uint64_t staleness_of(std::uint32_t seat) const;
  bool makes_versions(std::uint32_t seat) const;
  static Awaited on(Awaited::What what, std::uint32_t seat) {
    return {.what = what, .seat = static_cast<std::uint16_t>(seat)};
  }
  // Whether that holds for all of them; the first of which it does not is waited for.
  template <class Holds> bool all_of(std::span<const std::uint32_t> seats, Awaited::What what, Holds holds) {
    const auto first = std::ranges::find_if_not(seats, holds);
    return first == seats.end() ? is_over(true, {}) : is_over(false, on(what, *first));
  }
  // `over`: it does not wait any more; else it waits for that.
  bool is_over(bool over, Awaited awaited) {
    waits_ = over ? Awaited() : awaited;
    return over;
  }
  // Until servers have dealt with what they were asked.
  Status until_answered(Status (param::Table::*asks)()) {
    waits_ = on(Awaited::What::answers, Awaited::nobody);
    Status status = (*table_.*asks)();
    waits_ = {};
    return status;
  }
  void say_alive(Nanoseconds now);
  bool hangs(std::uint32_t seat, Nanoseconds limit);
  Nanoseconds longest_silence() const;
  Status rest_those_led();
  std::uint64_t done_by_all() const; // this one and those whom it leads
  Status leave(std::uint32_t group); // makes no more steps
  Status tell(std::span<const std::uint32_t> seats, const param::Message&);

  struct Own {
    param::SharedMemory board;      // that this one made: its own memory, or a mirror of that of another machine's seat
    std::unique_ptr<Region> region; // of a seat of its machine, mapped
    std::span<std::byte> bytes;
    // Of another machine's seat: its mirror of this one's memory, and its own memory.
    param::RemoteCopy there, origin;
  };
  // Mirrors are known by whose memory they are of: seats, and then server groups.
  std::uint32_t masters_number(std::uint32_t server_group) const { return seats_ + server_group; }
  // The masters of a server group, where they lie on another machine.
  struct RemoteMasters {
    std::uint32_t machine = 0;
    param::RemoteCopy there;
  };
  Vitals& vitals(std::uint32_t seat) const;
  std::span<double> numbers(std::uint32_t seat) const;
  std::span<char> words(std::uint32_t seat) const;

  class Lent; // the masters, and this worker's running state

  Session& session_;
  AddressBook& address_book_;
  const std::uint32_t number_, seats_, servers_;
  const bool far_; // some are on other machines
  const WorkerLayout layout_;
  const plan::Exchange& exchange_;
  const plan::ExchangePlugins& plugins_;
  const plan::Place& place_;
  const plan::TablePlan& table_plan_;
  std::vector<std::uint32_t> led_; // seats that it leads
  std::uint32_t leader_ = 0;       // who leads this one
  record::Traffic exchanged_;      // what went through the codec between server groups
  const plugin::Actor* updater_actor_ = nullptr;

  std::unique_ptr<Transport> transport_, network_; // null: nobody is reached by it
  std::unique_ptr<param::Post> post_;
  std::unique_ptr<Lent> lent_;
  param::SharedMemory masters_board_; // where this one made them for its machine
  std::unique_ptr<Region> masters_;   // else
  std::vector<Pinned> pinned_;        // of both, what a device copies that has memory of its own
  struct OtherMasters {
    param::SharedMemory board; // where no other of this machine has them
    std::unique_ptr<Region> region;
    param::Masters masters;
  };
  std::vector<std::vector<std::byte>> salvaged_, kept_; // what did not lie there in one piece: of the store's; of own
                                                        // values
  std::optional<std::vector<Outlasting>> outlasted_;    // of each server group, where a run goes on with that
  std::vector<OtherMasters> other_masters_; // of the other server groups: of the leader, and of who may take its place
  struct Aligned {
    Version version = 0;
    std::size_t place = 0; // which of the masters' values
    std::uint64_t exchanges = 0;
  };
  std::vector<std::vector<Aligned>> aligned_; // of each server group the slices', when they were aligned last
  std::size_t unaligned_ = 0;                 // slices of which nobody has said so yet
  std::vector<std::uint64_t> undecided_; // of each group, the first step of which that is not decided; none: not asked
  std::size_t unanswered_ = 0;           // groups of which nobody has said it yet
  record::LedgerHeads heads_;
  std::vector<bool> attests_;                              // of each seat: it is to say how far its ledger has come
  std::vector<Own> own_;                                   // of each worker, as this one sees it
  std::vector<std::vector<RemoteMasters>> remote_masters_; // of each server group
  std::optional<WorkerMemory> memory_;
  std::unique_ptr<param::Shard> shard_;
  std::optional<param::Chooser> chooser_; // beside the first server
  std::unique_ptr<param::Table> table_;
  std::unique_ptr<Peers> peers_; // null: params are shared

  std::optional<Go> go_;
  std::uint64_t free_until_ = 0;
  bool held_ = false;                   // once at least
  bool others_free_ = false;            // the run's leader has freed them since they stood still
  bool left_ = false;                   // its group makes no more steps
  std::optional<std::uint32_t> holder_; // who wants this one to stand still
  bool resting_ = false, computing_ = false, stopped_ = false;
  bool put_ = false;                                     // what all begin with is where they are
  std::vector<std::optional<record::Freight>> foreseen_; // of each worker
  std::vector<std::uint64_t> done_;                      // steps, of each worker
  std::vector<bool> idle_;                               // those who said so since they were held

  // Of another worker: what it showed when it was last looked at, and for how long it has shown the same.
  struct Silence {
    std::uint64_t beats = 0;
    Nanoseconds lasts = 0;
    bool told = false;
  };
  std::vector<Silence> silences_;
  Awaited waits_; // what this one waits for; of a param the table knows
  Nanoseconds looked_ = 0, begun_at_ = 0, showed_ = 0;
  std::uint64_t alive_at_ = ~std::uint64_t{0};   // steps done, when it last looked whether it waits long
  Nanoseconds says_alive_ = 0, alive_pause_ = 0; // when it says so again, and how long after the last time
  param::StartPoint begun_, reached_;

  // Of groups that may be lost.
  bool may_lose_ = false;                 // all have begun
  std::vector<bool> lost_;                // seats
  std::vector<std::uint64_t> joins_;      // of each server group, the number of the one that joined last
  std::uint64_t losses_ = 0;              // so far
  std::optional<param::Joining> joining_; // this one's group joins, or joined, those that had begun before
  // The run's leader's.
  std::function<Status()> look_;
  bool holds_ = false;      // the others stand still, or are about to
  std::uint64_t until_ = 0; // the step up to which they are free
  struct Admission {
    std::uint32_t server_group = 0;
    param::Joining joining;
    std::vector<bool> reached; // of each seat: it reaches the new processes
    std::uint32_t joined = 0;  // servers of the group
  };
  std::optional<Admission> admission_;
  std::uint64_t times_aligned_ = 0;
  std::vector<record::LedgerHead> heads_of_lost_;
  Nanoseconds stood_still_ = 0;
};

} // namespace dlhost::run
