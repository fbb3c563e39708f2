#include "run/seat.h"

#include <algorithm>
#include <limits>
#include <new>

namespace dlhost::run {
namespace {

constexpr std::size_t most_metrics = 256;
constexpr std::size_t words_bytes = 4096; // of the reason why a worker failed

} // namespace

Seat::Layout::Layout(const param::Store& store, const Seat& seat)
    : gradients(store), slices(seat.cut(gradients)), sent(gradients.bytes()), vitals(sent) {
  if (seat.codec_) {
    coding.emplace(store, slices, *seat.codec_, seat.session_.job().topology.codec_elements, sent);
    sent = coding->sent_end();
    vitals = coding->end();
  }
  if (const WorkerPlan& first = seat.first_plan_; first.update_locally) {
    replica.emplace(store, vitals, !first.send_delta);
    vitals = replica->end();
  }
  for (const auto& state : store.states()) {
    states.push_back(param::take_lines(vitals, store.device().bytes(state->desc)));
  }
  numbers = vitals + sizeof(Vitals);
  words = numbers + most_metrics * 2 * sizeof(double);
  bytes = words + words_bytes;
}

class Seat::Lent final : public param::Lender {
 public:
  Lent(const param::Store& store, std::size_t versions) : masters(store, versions) {}
  std::span<std::byte> lend(const param::Param& param, std::size_t which) override {
    return masters.lend(param, which);
  }
  bool fills() const override { return masters.fills(); }
  std::span<std::byte> lend_state(std::size_t place) override {
    return place < states.size() ? states[place] : std::span<std::byte>();
  }

  param::Masters masters;
  std::vector<std::span<std::byte>> states;
};

Seat::Seat(Session& session, Roster& roster, std::uint32_t number)
    : session_(session), roster_(roster), number_(number), seats_(roster.seats()),
      servers_(static_cast<std::uint32_t>(session.job().topology.servers_per_group)), own_(seats_), done_(seats_),
      idle_(seats_), silences_(seats_) {}

Seat::~Seat() = default;

// The one that the job names, or one whose memory all can map.
Result<std::unique_ptr<Transport>> Seat::transport() const {
  plugin::Registry& registry = session_.registry();
  const dlhost::Part& named = session_.job().topology.transport;
  if (!named.type.empty()) return registry.create<Transport>(named.type, named.options);
  for (const auto& name : registry.names(Kind::transport)) {
    DLHOST_ASSIGN(auto transport, registry.create<Transport>(name, {}));
    if (transport->capabilities().maps) return transport;
  }
  return Status::not_found("no plugin of kind transport whose memory can be mapped: several workers need one, such as "
                           "shm (`dlhost inspect --kind transport` lists what there is)");
}

Result<std::unique_ptr<Seat>> Seat::make(Session& session, Roster& roster, std::uint32_t number) {
  std::unique_ptr<Seat> seat(new Seat(session, roster, number));
  DLHOST_ASSIGN(seat->transport_, seat->transport());
  if (!seat->transport_->capabilities().maps)
    return Status::unsupported("topology.transport: its memory cannot be mapped, which workers of one machine need");
  const config::Job& job = session.job();
  const auto& handler = job.topology.consistency;
  DLHOST_ASSIGN(seat->consistency_, session.registry().create<Consistency>(handler.type, handler.options));
  seat->traits_ = seat->consistency_->traits();
  seat->first_plan_ = seat->consistency_->plan(0, 0);
  seat->in_step_ = seat->traits_.joint && seat->traits_.staleness == 0;
  seat->place_ = Place::at(job, number, seat->traits_.joint);
  seat->find_others();
  if (const dlhost::Part& codec = job.topology.codec; !codec.type.empty()) {
    DLHOST_ASSIGN(seat->codec_, session.registry().create<Codec>(codec.type, codec.options));
    DLHOST_ASSIGN(seat->codec_actor_, session.registry().actor(Kind::codec, codec.type, codec.type));
  }
  DLHOST_ASSIGN(seat->consistency_actor_, session.registry().actor(Kind::consistency, handler.type, handler.type));
  const std::string& updater = job.updater.plugin.type;
  DLHOST_ASSIGN(seat->updater_actor_, session.registry().actor(Kind::updater, updater, updater));
  return seat;
}

void Seat::find_others() {
  leader_ = in_step_ ? 0 : place_.group * place_.workers;
  for (std::uint32_t other = 0; other < seats_; ++other) {
    if (other == number_ || !leads()) continue;
    if (in_step_ || other / place_.workers == place_.group) led_.push_back(other);
  }
}

Status Seat::supported(const param::Store& store) const {
  const config::Job& job = session_.job();
  const auto refuse = [&](const std::string& what) {
    return Status::unsupported(what, " with several workers: not in this version; train with one");
  };
  if (!session_.device().traits().host_memory)
    return refuse("device '" + job.train.device.type + "', whose memory the host cannot reach,");
  if (std::ranges::any_of(store.states(), [](const auto& state) { return state->merge == Merge::sum; }))
    return refuse("running state that is summed over workers");
  if (store.carries()) return refuse("what layers carry from batch to batch");
  if (job.train.reproducible && !in_step_)
    return refuse("train.reproducible under consistency '" + job.topology.consistency.type +
                  "', where updates are made in the order in which they come,");
  if (job.train.reproducible && job.updater.clip_norm > 0)
    return refuse("train.reproducible with updater.clip_norm, whose squares are added server by server,");
  if (job.train.reproducible && codec_)
    return refuse(
        "train.reproducible with topology.codec, which each worker's contributions go through for themselves,");
  if (job.train.reproducible && !place_.has_whole_blocks())
    return Status::invalid(
        "train.reproducible: the ", place_.global_batch, " samples of an update are summed in ", Place::blocks,
        " blocks, which ", seats_,
        " workers cannot share equally; take 2, 4 or 8 workers, and a batch that is a multiple of 8");
  if (consistency_->next_timer({}) != 0)
    return refuse("consistency handler '" + job.topology.consistency.type +
                  "', which wants to be called after a while,");
  DLHOST_TRY(can_have_own_values());
  DLHOST_TRY(can_warm_up());
  return param::Table::can_follow(first_plan_, first_plan_, 0, consistency_actor_);
}

// The first group is alone in all that is made of contributions; then the others go on from its params.
Status Seat::can_warm_up() const {
  const config::Topology& topology = session_.job().topology;
  if (topology.warmup_steps == 0) return {};
  const auto refuse = [&](const auto&... why) {
    return Status::unsupported("topology.warmup_steps = ", topology.warmup_steps, " under consistency '",
                               topology.consistency.type, "', ", why..., "; choose another one, or no warm-up");
  };
  if (in_step_ || traits_.by_step) return refuse("whose versions wait for the other groups' contributions");
  if (saves_own_values()) return refuse("whose workers begin with values of their own");
  return {};
}

Status Seat::can_have_own_values() const {
  if (!first_plan_.update_locally) return {};
  const auto refuse = [&](const auto&... why) {
    return Status::unsupported("consistency '", session_.job().topology.consistency.type,
                               "', whose workers update values of their own, ", why...);
  };
  if (codec_ && first_plan_.send_delta) {
    const Codec::Traits codec = codec_->traits();
    if (!codec.error_feedback && !codec.unbiased && !codec.lossless)
      return refuse("with codec '", session_.job().topology.codec.type,
                    "' and no feedback: what it leaves out of a difference would be lost; set feedback = true");
  }
  if (place_.workers > 1)
    return refuse("with ", place_.workers,
                  " workers a group: each would follow the gradients of its own rows only, and leave the others; take "
                  "topology.workers_per_group = 1 and as many groups");
  if (traits_.joint) return refuse("and whose groups make each update together: not in this version");
  if (!traits_.readers_overlap)
    return refuse("and read the servers' while these are written: its traits have to say readers_overlap");
  return {};
}

param::Sharing::Bytes Seat::bytes(const param::Store& store) const {
  const Layout layout(store, *this);
  Bytes bytes{.own = layout.bytes, .common = param::Masters(store, versions()).bytes()};
  for (const auto& param : store.params())
    if (saves_own_values() && param->updated) bytes.saved += param->master.plain_bytes() * (1 + param->slots);
  if (layout.coding) {
    bytes.saved += layout.coding->kept_bytes();
    bytes.aside = layout.coding->decoded_bytes();
  }
  return bytes;
}

// Where several versions of a param are there at once, it is read whole, from one of them. Where its slices go at their
// own pace, there are no sums over a param but of one slice; and one slice's are those of one worker, bit for bit.
param::Slices Seat::cut(const param::Gradients& gradients) const {
  const bool sums = !session_.updater().rule().partials.results().empty();
  const bool whole = versions() > 1 || (sums && (!whole_versions() || session_.job().train.reproducible)) ||
                     (codec_ && codec_->traits().whole_matrix);
  return param::Slices::cut(gradients.elements(), servers_,
                            whole ? std::numeric_limits<std::int64_t>::max() : session_.job().topology.slice_elements);
}

Status Seat::open(param::Store& store) {
  DLHOST_TRY(supported(store));
  layout_.emplace(store, *this);
  // For each slice an update, a get and a look, or their answers, and its sums for two versions; what leaders say, and
  // norms.
  const std::size_t sums = session_.updater().rule().partials.results().size();
  const std::size_t credit = (8 + 2 * sums) * layout_->slices.size() * seats_ + 18 * seats_;
  DLHOST_ASSIGN(post_, param::Post::open(session_.host(), *transport_, number_, seats_, credit));

  DLHOST_ASSIGN(own_[number_].region, post_->endpoint().allocate(layout_->bytes));
  own_[number_].bytes = own_[number_].region->bytes();
  new (own_[number_].bytes.data() + layout_->vitals) Vitals;

  lent_ = std::make_unique<Lent>(store, versions());
  for (std::size_t s = 0; s < layout_->states.size(); ++s)
    lent_->states.push_back(
        own_[number_].bytes.subspan(layout_->states[s], store.device().bytes(store.states()[s]->desc)));
  Card card{.address = post_->endpoint().address(), .own = own_[number_].region->key(), .masters = {}, .formats = {}};
  if (number_ == 0) {
    DLHOST_ASSIGN(masters_, post_->endpoint().allocate(std::max<std::size_t>(lent_->masters.bytes(), 1)));
    card.masters = masters_->key();
    for (const auto& param : store.params())
      card.formats[param->declared.name] = store.device().format_name(param->master);
  } else {
    DLHOST_ASSIGN(const Card leader, roster_.card(0));
    DLHOST_TRY(post_->connect(0, leader.address));
    DLHOST_ASSIGN(const PeerId peer, post_->peer(0));
    DLHOST_ASSIGN(masters_, post_->endpoint().map(peer, leader.masters));
    if (masters_->bytes().size() < lent_->masters.bytes())
      return Status::internal("worker ", number_, " has a net of other params than worker 0");
  }
  lent_->masters.lie_at(masters_->bytes(), number_ == 0);
  store.borrow(*lent_);
  return roster_.put(number_, std::move(card));
}

std::span<std::byte> Seat::gradient(const param::Param& param) {
  return own_[number_].bytes.subspan(layout_->gradients.offset(param.number),
                                     static_cast<std::size_t>(layout_->gradients.elements()[param.number]) *
                                         sizeof(float));
}

Status Seat::connect() {
  for (std::uint32_t other = 0; other < seats_; ++other) {
    if (other == number_) continue;
    DLHOST_ASSIGN(const Card card, roster_.card(other));
    if (number_ == 0 || other != 0) DLHOST_TRY(post_->connect(other, card.address));
    DLHOST_ASSIGN(const PeerId peer, post_->peer(other));
    DLHOST_ASSIGN(own_[other].region, post_->endpoint().map(peer, card.own));
    own_[other].bytes = own_[other].region->bytes();
    if (own_[other].bytes.size() < layout_->bytes)
      return Status::internal("worker ", other, " has a net of other params than worker ", number_);
  }
  return {};
}

Status Seat::make_shard() {
  param::ShardSetup setup{
      .server = number_,
      .slices = &layout_->slices,
      .masters = &lent_->masters,
      .store = &session_.store(),
      .groups = place_.groups,
      .consistency = consistency_.get(),
      .consistency_actor = consistency_actor_,
      .updater = &session_.updater(),
      .updater_actor = updater_actor_,
      .update_settings = {.clip_value = session_.job().updater.clip_value,
                          .clip_norm = whole_versions() ? session_.job().updater.clip_norm : 0},
      .codec = codec_use(),
      .activity = &session_.activity(),
      .send = [this](std::uint32_t seat, const param::Message& message) { return table_->send(seat, message); }};
  for (std::uint32_t seat = 0; seat < seats_; ++seat)
    setup.contributors.push_back({.group = static_cast<std::uint16_t>(seat / place_.workers),
                                  .rank = static_cast<std::uint16_t>(seat % place_.workers),
                                  .seat = seat,
                                  .sent = own_[seat].bytes.first(layout_->sent)});
  DLHOST_ASSIGN(shard_, param::Shard::make(std::move(setup)));
  if (!traits_.by_step || number_ != 0) return {};
  chooser_.emplace(param::Chooser::Setup{.groups = place_.groups,
                                         .workers = place_.workers,
                                         .consistency = consistency_.get(),
                                         .actor = consistency_actor_,
                                         .activity = &session_.activity(),
                                         .tell = [this](const param::Message& message) {
                                           for (std::uint32_t server = 0; server < servers_; ++server)
                                             DLHOST_TRY(table_->send(server, message));
                                           return Status();
                                         }});
  return {};
}

Result<std::unique_ptr<param::Replica>> Seat::make_replica() {
  return param::Replica::make({.store = &session_.store(),
                               .gradients = &layout_->gradients,
                               .places = &*layout_->replica,
                               .memory = own_[number_].bytes,
                               .updater = &session_.updater(),
                               .updater_actor = updater_actor_,
                               .update_settings = {.clip_value = session_.job().updater.clip_value},
                               .activity = &session_.activity()});
}

param::CodecUse Seat::codec_use() const {
  return {.store = &session_.store(),
          .coding = layout_->coding ? &*layout_->coding : nullptr,
          .codec = codec_.get(),
          .actor = codec_actor_,
          .activity = &session_.activity()};
}

Status Seat::join() {
  DLHOST_TRY(connect());
  param::Table::Setup setup{
      .host = &session_.host(),
      .post = post_.get(),
      .store = &session_.store(),
      .slices = &layout_->slices,
      .masters = &lent_->masters,
      .gradients = &layout_->gradients,
      .consistency = consistency_.get(),
      .consistency_actor = consistency_actor_,
      .seats = {},
      .group = static_cast<std::uint16_t>(place_.group),
      .rank = static_cast<std::uint16_t>(place_.rank),
      .rows = {static_cast<std::uint64_t>(place_.first_row), static_cast<std::uint32_t>(place_.rows)},
      .clip = nullptr,
      .replica = nullptr,
      .coder = nullptr,
      .late = session_.job().topology.warmup_steps > 0 && place_.group > 0,
      .control = this};
  if (const double norm = session_.job().updater.clip_norm; norm > 0 && !whole_versions()) {
    DLHOST_ASSIGN(setup.clip, param::Clip::prepare(session_.store(), layout_->gradients, own_[number_].bytes, norm));
  }
  if (layout_->replica) {
    DLHOST_ASSIGN(setup.replica, make_replica());
  }
  if (layout_->coding) {
    DLHOST_ASSIGN(setup.coder, param::Coder::make({.use = codec_use(),
                                                   .slices = &layout_->slices,
                                                   .memory = own_[number_].bytes,
                                                   .seed = static_cast<std::uint64_t>(session_.job().seed),
                                                   .contributor = number_}));
  }
  for (std::uint32_t server = 0; server < servers_; ++server) setup.seats.push_back(server);
  table_ = std::make_unique<param::Table>(std::move(setup));
  if (number_ < servers_) {
    DLHOST_TRY(make_shard());
    table_->sit_beside(shard_.get(), chooser_ ? &*chooser_ : nullptr);
  }
  return roster_.meet(number_);
}

Status Seat::begin(const param::Beginning& beginning) {
  table_->begin(beginning);
  if (shard_ && !beginning.ledger.empty()) DLHOST_TRY(keep_ledger(beginning));
  for (std::uint32_t seat = 0; seat < seats_; ++seat)
    done_[seat] = beginning.of_group(seat / place_.workers, place_.workers);
  begun_ = beginning;
  begun_at_ = session_.host().clock().now();
  set_away(false);
  return {};
}

Status Seat::keep_ledger(const param::Beginning& beginning) {
  Disk& disk = session_.host().disk();
  DLHOST_TRY(disk.make_directory(beginning.ledger));
  DLHOST_ASSIGN(auto file, disk.open_log(param::Ledger::file_in(beginning.ledger, number_)));
  return shard_->keep_ledger(std::move(file), beginning);
}

// What is saved while all stand still is what the next step begins with.
std::vector<std::vector<param::TensorPlace>> Seat::own_values() {
  std::vector<std::vector<param::TensorPlace>> all;
  const bool codec_keeps = layout_->coding && layout_->coding->keeps();
  if (!saves_own_values() && !codec_keeps) return all;
  const auto rule = session_.updater().rule();
  for (std::uint32_t seat = 0; seat < seats_; ++seat) {
    auto& own = all.emplace_back();
    if (codec_keeps) own = layout_->coding->kept(own_[seat].bytes);
    if (!saves_own_values()) continue;
    for (const auto& param : session_.store().params()) {
      const std::string& name = param->declared.name;
      const auto& places = layout_->replica->of(param->number);
      if (places.bytes == 0) continue;
      own.push_back({name, param->master, own_[seat].bytes.data() + places.value});
      for (std::size_t slot = 0; slot < places.history.size(); ++slot)
        own.push_back(
            {name + "/" + rule.history[slot].name, param->master, own_[seat].bytes.data() + places.history[slot]});
    }
  }
  return all;
}

// What a worker computes once more, because others of its group had not come that far, is in already.
param::Beginning Seat::reached() const {
  param::Beginning reached{.version = table_->version(), .steps = {}};
  for (std::uint32_t seat = 0; seat < seats_; ++seat)
    reached.steps.push_back(std::max(begun_.steps[seat], vitals(seat).steps.load(std::memory_order_acquire)));
  return reached;
}

Vitals& Seat::vitals(std::uint32_t seat) const {
  return *std::launder(reinterpret_cast<Vitals*>(own_[seat].bytes.data() + layout_->vitals));
}

std::span<double> Seat::numbers(std::uint32_t seat) const {
  return {reinterpret_cast<double*>(own_[seat].bytes.data() + layout_->numbers), most_metrics * 2};
}

std::span<char> Seat::words(std::uint32_t seat) const {
  return {reinterpret_cast<char*>(own_[seat].bytes.data() + layout_->words), words_bytes};
}

} // namespace dlhost::run
