#include "run/worker/worker_ends.h"

#include <algorithm>

#include "param/exchange/row_pool.h"

namespace dlhost::run {
namespace {

using Groups = plan::Exchange::Groups;
using Encodes = plan::Exchange::Encodes;

// Only the transport that the job names is loaded: network libraries take a while.
Result<std::unique_ptr<Transport>> near_transport(Session& session) {
  const dlhost::Part& named = session.job().topology.transport;
  DLHOST_ASSIGN(auto transport,
                session.registry().create<Transport>(named.type.empty() ? "shm" : named.type, named.options));
  if (!transport->capabilities().maps)
    return Status::unsupported("topology.transport = '", named.type,
                               "', whose memory cannot be mapped: workers of one machine need that; leave it out");
  return transport;
}

Result<std::unique_ptr<Transport>> far_transport(Session& session) {
  const dlhost::Part& named = session.job().topology.network;
  DLHOST_ASSIGN(auto network,
                session.registry().create<Transport>(named.type.empty() ? "fabric" : named.type, named.options));
  const auto capabilities = network->capabilities();
  if (!capabilities.one_sided || !capabilities.registers)
    return Status::unsupported("topology.network = '", named.type,
                               "' cannot put into other machines' memory with its options, but workers of different "
                               "machines need that: choose another one or other options (`dlhost inspect` lists the "
                               "capabilities of each provider), or leave it out");
  return network;
}

// The part of the traffic to other machines that is encrypted.
std::optional<param::EncryptedEndpoint::What> encrypted(const config::Topology& topology) {
  using What = param::EncryptedEndpoint::What;
  if (topology.encrypt_data) return What::all;
  return topology.encrypt ? std::optional(What::messages) : std::nullopt;
}

} // namespace

WorkerEnds::WorkerEnds(Session& session_of_worker, AddressBook& book, plan::ExchangePlugins plugins,
                       std::uint32_t worker, bool publishes)
    : session(session_of_worker), address_book(book), number(worker),
      layout(session.job(), session.exchange(), std::move(plugins), session.updater(), book.machines(), worker,
             publishes),
      memory(session, layout, worker, worker == 0 || layout.exchange.versions_outlive) {
  steps.done.resize(layout.map.workers());
}

// Endpoints use this worker's memory, and others put into it, until they are closed.
WorkerEnds::~WorkerEnds() {
  if (post) post->close();
}

Status WorkerEnds::load() {
  if (layout.map.has_near(number)) {
    DLHOST_ASSIGN(near, near_transport(session));
  }
  if (has_far()) {
    DLHOST_ASSIGN(far, far_transport(session));
  }
  const std::string& updater = session.job().updater.plugin.type;
  DLHOST_ASSIGN(updater_actor_, session.registry().actor(Kind::updater, updater, updater));
  return {};
}

// Credit: for each slice an update, a get and a look, or their answers, and its sums for two versions; orders of
// leaders, and norms; exchanges with other server groups; loans within the group, and their returns.
Status WorkerEnds::open_post() {
  memory.lay_out(lent.bytes);
  const std::size_t workers = layout.map.workers(), slices = this->slices().size();
  const std::size_t sums = session.updater().rule().partials.results().size();
  const std::size_t at_once = slices + 2 * param::RowPlan::least_places; // slices and sections
  const std::size_t exchanges =
      layout.exchange.groups != Groups::one ? 8 * at_once * layout.map.server_groups() : std::size_t{0};
  DLHOST_ASSIGN(post, param::Post::open({.host = &session.host(),
                                         .near = near.get(),
                                         .far = far.get(),
                                         .seat = number,
                                         .machines = address_book.machines(),
                                         .epoch = address_book.epoch(),
                                         .host_name = address_book.host_name(),
                                         .secret = address_book.secret(),
                                         .sealed = encrypted(session.job().topology),
                                         .credit = (8 + 2 * sums) * slices * workers + exchanges + 50 * workers +
                                                   4 * lent.transfers.size() * layout.place.workers}));
  return {};
}

Status WorkerEnds::tell(std::span<const std::uint32_t> workers, const param::Body& message) const {
  Status first;
  for (const std::uint32_t worker : workers) {
    Status status = send(worker, message);
    if (first.ok()) first = std::move(status);
  }
  return first;
}

std::optional<double> WorkerEnds::gradient_norm() const {
  const auto own = table->gradient_norm();
  return own || !shard ? own : shard->gradient_norm();
}

param::Arrivals WorkerEnds::arrivals() const {
  param::Arrivals all;
  for (std::uint32_t worker = 0; worker < layout.map.workers(); ++worker) all += memory.vitals(worker).arrivals();
  return all;
}

record::Traffic WorkerEnds::encoded() const {
  const bool by_client = table && layout.exchange.encodes != Encodes::exchanges;
  return by_client ? table->encoded() : exchanged;
}

Status WorkerEnds::await_shown() const {
  if (!has_far()) return {};
  return table->wait_until([this] { return post->all_shown(); });
}

void WorkerEnds::await_sent() const {
  constexpr int looks = 20;
  constexpr Nanoseconds each = 50'000'000;
  for (int look = 0; has_far() && look < looks && !post->all_sent(); ++look)
    table->progress(each).ignore("the run is over; a process that is gone needs nothing");
}

void WorkerEnds::fail(const Status& status) const {
  if (!table) return; // no worker listens yet
  const auto said = memory.words(number);
  const std::string& message = status.message();
  const std::size_t length = std::min(message.size(), said.size() - 1);
  std::ranges::copy_n(message.begin(), static_cast<std::ptrdiff_t>(length), said.begin());
  said[length] = '\0';
  std::vector<std::uint32_t> others;
  for (std::uint32_t worker = 0; worker < layout.map.workers(); ++worker) {
    if (worker == number) continue;
    post->show(memory.shown(worker, memory.places().words, length + 1, record::Cargo::control))
        .ignore("a worker that cannot be told notices that this one is gone");
    others.push_back(worker);
  }
  tell(others, param::to_worker::Failed{.code = static_cast<std::uint32_t>(status.code())})
      .ignore("a worker that cannot be told notices that this one is gone");
  await_sent();
}

param::CodecUse WorkerEnds::codec_use() const {
  return {.store = &session.store(),
          .coding = memory.places().coding ? &*memory.places().coding : nullptr,
          .codec = layout.plugins.codec().plugin.get(),
          .actor = layout.plugins.codec().actor,
          .activity = &session.activity()};
}

Result<std::unique_ptr<param::Replica>> WorkerEnds::make_replica() const {
  return param::Replica::make({.store = &session.store(),
                               .gradients = &memory.places().gradients,
                               .places = &*memory.places().replica,
                               .memory = memory.own(),
                               .updater = &session.updater(),
                               .updater_actor = updater_actor_,
                               .update_settings = {.clip_value = session.job().updater.clip_value},
                               .activity = &session.activity()});
}

Status WorkerEnds::make_table(param::ControlHandler& control, bool mends, LearnedBy learned_by) {
  const plan::Place& place = layout.place;
  const plan::Exchange& exchange = layout.exchange;
  param::Table::Setup setup{
      .host = &session.host(),
      .post = post.get(),
      .store = &session.store(),
      .slices = &slices(),
      .masters = &memory.masters(),
      .gradients = &memory.places().gradients,
      .handlers = layout.plugins.handlers(session.store()),
      .seats = layout.map.servers_of(place.server_group),
      .other_seats = {},
      .worker = {static_cast<std::uint16_t>(place.group), static_cast<std::uint16_t>(place.rank)},
      .rows = {static_cast<std::uint64_t>(place.first_row), static_cast<std::uint32_t>(place.rows)},
      .clip = nullptr,
      .replica = nullptr,
      .coder = nullptr,
      .control = &control};
  const bool shares = exchange.groups == Groups::contributions;
  for (std::uint32_t group = 0; shares && group < place.server_groups; ++group)
    if (group != place.server_group) setup.other_seats.push_back(layout.map.servers_of(group));
  if (const double norm = session.job().largest_norm(); norm > 0 && !exchange.whole_versions) {
    DLHOST_ASSIGN(setup.clip, param::Clip::prepare(session.store(), memory.places().gradients, memory.own(), norm));
  }
  if (memory.places().replica) {
    DLHOST_ASSIGN(setup.replica, make_replica());
  }
  if (exchange.encodes == Encodes::contributions) {
    DLHOST_ASSIGN(setup.coder, param::Coder::make({.use = codec_use(),
                                                   .slices = &slices(),
                                                   .memory = memory.own(),
                                                   .seed = static_cast<std::uint64_t>(session.job().seed),
                                                   .contributor = number}));
  }
  table = std::make_unique<param::Table>(std::move(setup));
  if (!layout.serves()) return {};
  DLHOST_TRY(make_shard(mends, std::move(learned_by)));
  if (exchange.by_step && number == home()) make_chooser();
  table->sit_beside(shard.get(), chooser ? &*chooser : nullptr);
  return {};
}

Status WorkerEnds::make_shard(bool mends, LearnedBy learned_by) {
  const plan::Place& place = layout.place;
  const plan::Exchange& exchange = layout.exchange;
  param::ShardSetup setup{
      .server = layout.server(),
      .machine = layout.map.machine_of(number),
      .epoch = address_book.epoch(),
      .seats = layout.map.servers_of(place.server_group),
      .slices = &slices(),
      .masters = &memory.masters(),
      .published = memory.published(number),
      .versions_outlive = exchange.versions_outlive,
      .store = &session.store(),
      .groups = place.served,
      .handlers = layout.plugins.handlers(session.store()),
      .updater = &session.updater(),
      .updater_actor = updater_actor_,
      .update_settings = {.clip_value = session.job().updater.clip_value,
                          .clip_norm = exchange.whole_versions ? session.job().largest_norm() : 0},
      .codec = exchange.encodes == Encodes::exchanges ? param::CodecUse() : codec_use(),
      .sync = sync_setup(mends, std::move(learned_by)),
      .alike = exchange.alike(),
      .activity = &session.activity(),
      .send = [this](std::uint32_t worker, const param::Body& message) { return send(worker, message); }};
  if (has_far()) {
    setup.show = [this](std::uint32_t worker, std::span<const std::byte> part, record::Cargo cargo) {
      return memory.show_masters(layout.place.server_group, layout.map.machine_of(worker), part, cargo);
    };
    setup.show_own = [this](std::uint32_t worker, std::span<const std::byte> part) {
      const auto at = static_cast<std::size_t>(part.data() - memory.own().data());
      return post->show(memory.shown(worker, at, part.size(), record::Cargo::state));
    };
    setup.send_with = [this](std::uint32_t worker, const param::Body& message,
                             std::span<const std::byte> params) -> Status {
      DLHOST_ASSIGN(const auto shown, memory.shown_masters(layout.place.server_group, layout.map.machine_of(worker),
                                                           params, record::Cargo::params));
      return table->send(worker, message, shown);
    };
  }
  const std::uint32_t first = place.first_served * place.workers;
  for (std::uint32_t worker = first; worker < first + place.served * place.workers; ++worker)
    setup.contributors.push_back({.group = static_cast<std::uint16_t>(worker / place.workers),
                                  .rank = static_cast<std::uint16_t>(worker % place.workers),
                                  .seat = worker,
                                  .sent = memory.of(worker).first(memory.places().sent),
                                  .machine = layout.map.machine_of(worker)});
  DLHOST_ASSIGN(shard, param::Shard::make(std::move(setup)));
  return {};
}

void WorkerEnds::make_chooser() {
  const plan::Place& place = layout.place;
  const auto& handler = layout.plugins.job();
  chooser.emplace(param::Chooser::Setup{
      .clients = {place.first_served, place.served, place.workers},
      .consistency = handler.plugin.get(),
      .actor = handler.actor,
      .activity = &session.activity(),
      .epoch = address_book.epoch(),
      .tell =
          [this, servers = layout.map.servers_of(place.server_group)](const param::ToServer& message) {
            for (const std::uint32_t server : servers) DLHOST_TRY(send(server, message));
            return Status();
          },
      .answer = [this](const param::to_worker::Undecided& message) { return send(param::leading_seat, message); }});
}

std::optional<param::GroupSync::Setup> WorkerEnds::sync_setup(bool mends, LearnedBy learned_by) {
  const plan::Exchange& exchange = layout.exchange;
  if (exchange.groups == Groups::one || exchange.groups == Groups::contributions) return {};
  const auto cargo = exchange.groups == Groups::gradients ? record::Cargo::gradients : record::Cargo::params;
  param::GroupSync::Setup setup{
      .neighbours = {.rank = layout.place.server_group,
                     .all = {},
                     .memory = memory.own(),
                     .place = memory.places().exchanged,
                     .sync = layout.plugins.sync().plugin.get(),
                     .actor = layout.plugins.sync().actor,
                     .activity = &session.activity(),
                     .codec = exchange.encodes == Encodes::exchanges ? codec_use() : param::CodecUse(),
                     .seed = static_cast<std::uint64_t>(session.job().seed),
                     .traffic = &exchanged,
                     .send =
                         [this, cargo](std::uint32_t worker, const param::ToNeighbour& message,
                                       std::span<const std::byte> part) {
                           if (part.empty()) return table->send(worker, message);
                           const auto at = static_cast<std::size_t>(part.data() - memory.own().data());
                           return table->send(worker, message, memory.shown(worker, at, part.size(), cargo));
                         }},
      .in_step = exchange.in_step,
      .outlived = exchange.versions_outlive,
      .rows_bound = layout.table.rows_bound(),
      .mends = mends,
      .masters = &memory.masters(),
      .store = &session.store(),
      .outlived_by = std::move(learned_by),
      .publish = nullptr};
  for (std::uint32_t group = 0; group < layout.map.server_groups(); ++group) {
    const std::uint32_t worker = layout.map.home_of(group) + layout.server();
    setup.neighbours.all.push_back({worker, memory.of(worker), layout.map.machine_of(worker)});
  }
  return setup;
}

} // namespace dlhost::run
