#include "run/worker/seat.h"

#include <algorithm>
#include <new>

#include "env/process/process.h"
#include "param/exchange/row_pool.h"
#include "plan/refusals.h"

namespace dlhost::run {

class Seat::Lent final : public param::Lender {
 public:
  explicit Lent(param::Masters laid_out) : masters(std::move(laid_out)) {}
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

param::Masters& Seat::lent_masters() const { return lent_->masters; }

Seat::Seat(Session& session, AddressBook& address_book, plan::ExchangePlugins plugins, std::uint32_t number)
    : session_(session), address_book_(address_book), number_(number), seats_(address_book.seats()),
      servers_(static_cast<std::uint32_t>(session.job().topology.servers_per_group)),
      far_(std::ranges::count(address_book.machines(), address_book.machines()[number]) < std::ptrdiff_t{seats_}),
      layout_(session.job(), session.exchange(), std::move(plugins), session.updater(), address_book.machines(), number,
              session.exchange().versions_outlive || mends()),
      exchange_(layout_.exchange), plugins_(layout_.plugins), place_(layout_.place), table_plan_(layout_.table),
      own_(seats_), done_(seats_), idle_(seats_), silences_(seats_), lost_(seats_),
      joins_(static_cast<std::size_t>(session.job().topology.server_groups)) {}

// Endpoints put from this one's memory, and others into it, to their end.
Seat::~Seat() {
  if (post_) post_->close();
}

std::optional<param::EncryptedEndpoint::What> Seat::sealed() const {
  const config::Topology& topology = session_.job().topology;
  if (topology.encrypt_data) return param::EncryptedEndpoint::What::all;
  return topology.encrypt ? std::optional(param::EncryptedEndpoint::What::messages) : std::nullopt;
}

// The one that the job names. Others are not even loaded: libraries of networks take a while.
Result<std::unique_ptr<Transport>> Seat::transport() const {
  const dlhost::Part& named = session_.job().topology.transport;
  DLHOST_ASSIGN(auto transport,
                session_.registry().create<Transport>(named.type.empty() ? "shm" : named.type, named.options));
  if (!transport->capabilities().maps)
    return Status::unsupported("topology.transport = '", named.type,
                               "', whose memory cannot be mapped: workers of one machine need that; leave it out");
  return transport;
}

Result<std::unique_ptr<Seat>> Seat::make(Session& session, AddressBook& address_book, std::uint32_t number) {
  const config::Job& job = session.job();
  DLHOST_ASSIGN(auto plugins, plan::ExchangePlugins::make(job, session.registry()));
  std::unique_ptr<Seat> seat(new Seat(session, address_book, std::move(plugins), number));
  if (seat->has_near()) {
    DLHOST_ASSIGN(seat->transport_, seat->transport());
  }
  if (seat->has_far()) {
    DLHOST_ASSIGN(seat->network_, seat->network());
  }
  seat->find_others();
  const std::string& updater = job.updater.plugin.type;
  DLHOST_ASSIGN(seat->updater_actor_, session.registry().actor(Kind::updater, updater, updater));
  return seat;
}

void Seat::find_others() {
  leader_ = exchange_.in_step ? 0 : place_.group * place_.workers;
  for (std::uint32_t other = 0; other < seats_; ++other) {
    if (other == number_ || !leads()) continue;
    if (exchange_.in_step || other / place_.workers == place_.group) led_.push_back(other);
  }
}

Status Seat::open(param::Store& store) {
  const auto is_summed = [](const auto& state) { return state->merge == Merge::sum; };
  DLHOST_TRY(
      plan::check_net({session_.job(),
                       plugins_.declared(),
                       exchange_,
                       {.sums_state = std::ranges::any_of(store.states(), is_summed), .carries = store.carries()}}));
  memory_ = layout_.memory(store);
  // For each slice an update, a get and a look, or their answers, and its sums for two versions; what leaders say, and
  // norms; what is exchanged with other server groups.
  const std::size_t sums = session_.updater().rule().partials.results().size();
  const std::size_t at_once = memory_->slices.size() + 2 * param::RowPlan::least_places; // slices and sections
  const std::size_t exchanged = exchange_.groups != Groups::one ? 8 * at_once * place_.server_groups : 0;
  const std::size_t credit = (8 + 2 * sums) * memory_->slices.size() * seats_ + exchanged + 50 * seats_;
  DLHOST_ASSIGN(post_, param::Post::open({.host = &session_.host(),
                                          .near = transport_.get(),
                                          .far = network_.get(),
                                          .seat = number_,
                                          .machines = address_book_.machines(),
                                          .epoch = address_book_.epoch(),
                                          .host_name = address_book_.host_name(),
                                          .secret = address_book_.secret(),
                                          .sealed = sealed(),
                                          .credit = credit}));

  DLHOST_ASSIGN(own_[number_].board, post_->allocate(memory_->bytes));
  own_[number_].bytes = own_[number_].board.bytes();
  new (own_[number_].bytes.data() + memory_->vitals) Vitals;

  lent_ = std::make_unique<Lent>(table_plan_.masters(store));
  for (std::size_t s = 0; !states_apart() && s < memory_->states.size(); ++s) lent_->states.push_back(own_state(s));
  Contact contact{.addresses = post_->addresses(),
                  .own = own_[number_].board.near_key(),
                  .process = env::own_process(),
                  .bytes = memory_->exchanged};
  DLHOST_TRY(make_mirrors(contact));
  const std::uint32_t lodging = *remote_masters_of(place_.server_group, machine());
  std::span<std::byte> masters;
  if (number_ == lodging) {
    DLHOST_ASSIGN(masters_board_, post_->allocate(std::max<std::size_t>(lent_->masters.bytes(), 1)));
    contact.masters = masters_board_.near_key();
    if (has_far()) {
      contact.far_masters[place_.server_group] = masters_board_.far_key();
      post_->know(masters_number(place_.server_group), masters_board_.bytes());
    }
    masters = masters_board_.bytes();
  } else {
    DLHOST_ASSIGN(const Contact first, address_book_.contact(lodging));
    DLHOST_TRY(post_->connect(lodging, first.addresses));
    DLHOST_ASSIGN(masters_, post_->map(lodging, first.masters));
    masters = masters_->bytes();
    if (masters.size() < lent_->masters.bytes())
      return Status::internal("worker ", number_, " has a net of other params than worker ", lodging);
  }
  if (number_ == 0) {
    for (const auto& param : store.params())
      contact.formats[param->declared.name] = store.device().format_name(param->master);
    if (!exchange_.has_servers()) {
      DLHOST_ASSIGN(contact.convened, convened());
    }
  }
  for (const auto memory : {own_[number_].bytes, masters})
    if (store.apart()) pin(memory);
  lent_->masters.lie_at(masters, number_ == 0 || !exchange_.has_servers());
  store.borrow(*lent_);
  return address_book_.put(number_, std::move(contact));
}

void Seat::pin(std::span<std::byte> memory) {
  auto pinned = Pinned::make(session_.device(), memory);
  if (pinned.ok())
    pinned_.push_back(*std::move(pinned));
  else
    session_.host().log().write(LogLevel::warning, concat("worker ", number_,
                                                          "'s params and gradients cross in plain memory, "
                                                          "and slower: ",
                                                          pinned.status().message()));
}

Vitals& Seat::vitals(std::uint32_t seat) const {
  return *std::launder(reinterpret_cast<Vitals*>(own_[seat].bytes.data() + memory_->vitals));
}

std::span<double> Seat::numbers(std::uint32_t seat) const {
  return {reinterpret_cast<double*>(own_[seat].bytes.data() + memory_->numbers), WorkerMemory::most_metrics * 2};
}

std::span<char> Seat::words(std::uint32_t seat) const {
  return {reinterpret_cast<char*>(own_[seat].bytes.data() + memory_->words), WorkerMemory::words_bytes};
}

std::span<std::byte> Seat::contribution(const param::Param& param) {
  return own_[number_].bytes.subspan(memory_->gradients.offset(param.number));
}

Status Seat::connect() {
  const std::uint32_t lodging = *remote_masters_of(place_.server_group, machine());
  for (std::uint32_t other = 0; other < seats_; ++other) {
    if (other == number_ || lost_[other]) continue;
    DLHOST_ASSIGN(const Contact contact, address_book_.contact(other));
    if (joining_ && server_group_of(other) != place_.server_group) { // some may have ended meanwhile
      reach_or_lose(other, contact);
      const std::uint32_t group = server_group_of(other);
      if (lost_[other] && group == 0) return Status::gone("worker ", other, " is gone");
      if (lost_[other]) joining_->lost.push_back(group);
      continue;
    }
    if (other != lodging || number_ == lodging) DLHOST_TRY(post_->connect(other, contact.addresses));
    if (post_->is_far(other)) {
      if (contact.bytes != memory_->exchanged || contact.mirrors.size() != seats_ ||
          contact.far_masters.size() != place_.server_groups)
        return Status::internal("worker ", other, " has a net of other params than worker ", number_);
      own_[other].there = {.seat = other, .key = contact.mirrors.at(number_), .number = number_};
      own_[other].origin = {.seat = other, .key = contact.far_own, .number = other};
      continue;
    }
    DLHOST_ASSIGN(own_[other].region, post_->map(other, contact.own));
    own_[other].bytes = own_[other].region->bytes();
    if (own_[other].bytes.size() < memory_->exchanged)
      return Status::internal("worker ", other, " has a net of other params than worker ", number_);
  }
  DLHOST_TRY(find_mirrors());
  return number_ == 0 || exchange_.versions_outlive ? map_other_masters() : Status();
}

Status Seat::make_shard() {
  param::ShardSetup setup{
      .server = number_ - home_of(place_.server_group),
      .machine = machine(),
      .seats = servers_of(place_.server_group),
      .slices = &memory_->slices,
      .masters = &lent_->masters,
      .published = published(number_),
      .versions_outlive = exchange_.versions_outlive,
      .store = &session_.store(),
      .groups = place_.served,
      .handlers = plugins_.handlers(session_.store()),
      .updater = &session_.updater(),
      .updater_actor = updater_actor_,
      .update_settings = {.clip_value = session_.job().updater.clip_value,
                          .clip_norm = exchange_.whole_versions ? session_.job().largest_norm() : 0},
      .codec = exchange_.encodes == Encodes::exchanges ? param::CodecUse() : codec_use(),
      .sync = sync_setup(),
      .alike = exchange_.alike(),
      .activity = &session_.activity(),
      .send = [this](std::uint32_t seat, const param::Message& message) { return table_->send(seat, message); }};
  if (has_far()) {
    setup.show = [this](std::uint32_t seat, std::span<const std::byte> part, record::Cargo cargo) {
      return show_masters(place_.server_group, address_book_.machines()[seat], part, cargo);
    };
    setup.show_own = [this](std::uint32_t seat, std::span<const std::byte> part) {
      const auto place = static_cast<std::size_t>(part.data() - own_[number_].bytes.data());
      return post_->show(shown(seat, place, part.size(), record::Cargo::state));
    };
    setup.send_with = [this](std::uint32_t seat, const param::Message& message,
                             std::span<const std::byte> params) -> Status {
      DLHOST_ASSIGN(const auto shown,
                    shown_masters(place_.server_group, address_book_.machines()[seat], params, record::Cargo::params));
      return table_->send(seat, message, shown);
    };
  }
  const std::uint32_t served = place_.first_served * place_.workers;
  for (std::uint32_t seat = served; seat < served + place_.served * place_.workers; ++seat)
    setup.contributors.push_back({.group = static_cast<std::uint16_t>(seat / place_.workers),
                                  .rank = static_cast<std::uint16_t>(seat % place_.workers),
                                  .seat = seat,
                                  .sent = own_[seat].bytes.first(memory_->sent),
                                  .machine = address_book_.machines()[seat]});
  DLHOST_ASSIGN(shard_, param::Shard::make(std::move(setup)));
  if (!exchange_.by_step || number_ != home_of(place_.server_group)) return {};
  chooser_.emplace(
      param::Chooser::Setup{.clients = {place_.first_served, place_.served, place_.workers},
                            .consistency = plugins_.job().plugin.get(),
                            .actor = plugins_.job().actor,
                            .activity = &session_.activity(),
                            .tell =
                                [this, servers = servers_of(place_.server_group)](const param::Message& message) {
                                  for (const std::uint32_t server : servers) DLHOST_TRY(table_->send(server, message));
                                  return Status();
                                },
                            .answer = [this](const param::Message& message) { return table_->send(0, message); }});
  return {};
}

Result<std::unique_ptr<param::Replica>> Seat::make_replica() {
  return param::Replica::make({.store = &session_.store(),
                               .gradients = &memory_->gradients,
                               .places = &*memory_->replica,
                               .memory = own_[number_].bytes,
                               .updater = &session_.updater(),
                               .updater_actor = updater_actor_,
                               .update_settings = {.clip_value = session_.job().updater.clip_value},
                               .activity = &session_.activity()});
}

param::CodecUse Seat::codec_use() const {
  return {.store = &session_.store(),
          .coding = memory_->coding ? &*memory_->coding : nullptr,
          .codec = plugins_.codec().plugin.get(),
          .actor = plugins_.codec().actor,
          .activity = &session_.activity()};
}

Status Seat::join() {
  if (auto* admissions = address_book_.admissions(); admissions && admissions->number() > 0) {
    DLHOST_ASSIGN(joining_, admissions->admitted());
    for (const std::uint32_t group : joining_->lost)
      for (const std::uint32_t seat : seats_of(group)) lost_[seat] = true;
  }
  DLHOST_TRY(connect());
  param::Table::Setup setup{
      .host = &session_.host(),
      .post = post_.get(),
      .store = &session_.store(),
      .slices = &memory_->slices,
      .masters = &lent_->masters,
      .gradients = &memory_->gradients,
      .handlers = plugins_.handlers(session_.store()),
      .seats = servers_of(place_.server_group),
      .other_seats = {},
      .group = static_cast<std::uint16_t>(place_.group),
      .rank = static_cast<std::uint16_t>(place_.rank),
      .rows = {static_cast<std::uint64_t>(place_.first_row), static_cast<std::uint32_t>(place_.rows)},
      .clip = nullptr,
      .replica = nullptr,
      .coder = nullptr,
      .control = this};
  const bool shares = exchange_.groups == Groups::contributions;
  for (std::uint32_t group = 0; shares && group < place_.server_groups; ++group)
    if (group != place_.server_group) setup.other_seats.push_back(servers_of(group));
  if (const double norm = session_.job().largest_norm(); norm > 0 && !exchange_.whole_versions) {
    DLHOST_ASSIGN(setup.clip, param::Clip::prepare(session_.store(), memory_->gradients, own_[number_].bytes, norm));
  }
  if (memory_->replica) {
    DLHOST_ASSIGN(setup.replica, make_replica());
  }
  if (exchange_.encodes == Encodes::contributions) {
    DLHOST_ASSIGN(setup.coder, param::Coder::make({.use = codec_use(),
                                                   .slices = &memory_->slices,
                                                   .memory = own_[number_].bytes,
                                                   .seed = static_cast<std::uint64_t>(session_.job().seed),
                                                   .contributor = number_}));
  }
  table_ = std::make_unique<param::Table>(std::move(setup));
  if (!exchange_.has_servers()) DLHOST_TRY(join_peers());
  if (serves()) {
    DLHOST_TRY(make_shard());
    table_->sit_beside(shard_.get(), chooser_ ? &*chooser_ : nullptr);
  }
  return address_book_.meet(number_);
}

Status Seat::begin(const param::StartPoint& beginning) {
  if (number_ == 0) {
    DLHOST_TRY(leave_states());
    spread_states();
    fill_other_masters(beginning);
    DLHOST_TRY(show_beginning(beginning));
  } else if (joining_) {
    DLHOST_TRY(bring_values());
  } else { // others are told as well: whoever waits hears their calls
    DLHOST_TRY(table_->wait_until([this] { return is_over(put_ || stopped_, on(Awaited::What::beginning, 0)); }));
    if (put_) DLHOST_TRY(land_states());
  }
  param::StartPoint here = beginning.seen_by(place_.server_group);
  here.joining = joining_;
  if (here.slices.size() != memory_->slices.size()) here.slices.clear(); // they were cut otherwise
  table_->begin(here);
  if (memory_->coding) memory_->coding->clear(own_[number_].bytes, here.own_values);
  if (shard_ && !here.ledger.empty()) DLHOST_TRY(keep_ledger(here));
  for (std::uint32_t seat = 0; seat < seats_; ++seat)
    done_[seat] = beginning.of_group(seat / place_.workers, place_.workers);
  if (number_ == 0) vitals(0).told.store(done_[0], std::memory_order_release);
  begun_ = beginning;
  if (begun_.slices.size() != memory_->slices.size()) begun_.slices.clear();
  reached_ = begun_;
  reached_.own_values = true;
  may_lose_ = true;
  if (joining_) {
    if (shard_) DLHOST_TRY(shard_->join(joining_->number));
    DLHOST_TRY(table_->wait_until([this] { return is_over(put_ || stopped_, on(Awaited::What::beginning, 0)); }));
    if (put_) DLHOST_TRY(land_states());
  }
  begun_at_ = session_.host().clock().now();
  set_away(false);
  return {};
}

Status Seat::put() {
  for (std::uint32_t seat = 1; seat < seats_; ++seat) DLHOST_TRY(table_->send(seat, {.word = param::Word::put}));
  DLHOST_TRY(table_->wait_until([this] { return post_->all_sent(); }));
  put_ = true;
  return {};
}

} // namespace dlhost::run
