#include "run/worker/worker.h"

#include <algorithm>
#include <utility>

#include "env/process/process.h"
#include "plan/refusals.h"

namespace dlhost::run {

// Server groups can go on without a lost one only if its processes can be replaced.
Worker::Worker(Session& session, AddressBook& book, plan::ExchangePlugins plugins, std::uint32_t number)
    : ends_(session, book, std::move(plugins), number,
            session.exchange().versions_outlive || (session.exchange().groups_go_on && book.admissions())),
      exchange_(ends_.layout.exchange), map_(ends_.layout.map), number_(number),
      lost_(ends_, exchange_.groups_go_on && book.admissions()), lost_leader_(ends_, lost_, orders_),
      alignment_(ends_, lost_), position_(ends_, lost_, alignment_), salvage_(ends_),
      kept_(ends_, lost_, alignment_, salvage_),
      ledgers_(ends_, [this](std::uint32_t group) { return lost_.has(group); }), states_(ends_),
      liveness_(ends_, lost_), peers_(ends_, liveness_, orders_.stopped), loans_(ends_), idle_(map_.workers()) {
  lost_.on_replaced = [this](std::uint32_t worker) { liveness_.forget(worker); };
}

Result<std::unique_ptr<Worker>> Worker::make(Session& session, AddressBook& book, std::uint32_t number) {
  DLHOST_ASSIGN(auto plugins, plan::ExchangePlugins::make(session.job(), session.registry()));
  std::unique_ptr<Worker> worker(new Worker(session, book, std::move(plugins), number));
  DLHOST_TRY(worker->ends_.load());
  worker->find_led();
  return worker;
}

void Worker::find_led() {
  orders_.leader = leads() || exchange_.in_step ? param::leading_seat : place().group * place().workers;
  for (std::uint32_t other = 0; other < map_.workers(); ++other) {
    if (other == number_ || !leads()) continue;
    if (exchange_.in_step || other / place().workers == place().group) led_.push_back(other);
  }
}

Status Worker::open(param::Store& store) {
  const auto is_summed = [](const auto& state) { return state->merge == Merge::sum; };
  DLHOST_TRY(
      plan::check_net({ends_.session.job(),
                       ends_.layout.plugins.declared(),
                       exchange_,
                       {.sums_state = std::ranges::any_of(store.states(), is_summed), .carries = store.carries()}}));
  DLHOST_TRY(ends_.open_post());
  Contact contact{.addresses = ends_.post->addresses(), .process = env::own_process()};
  DLHOST_TRY(ends_.memory.open(*ends_.post, ends_.address_book, contact));
  if (number_ == 0) {
    for (const auto& param : store.params())
      contact.formats[param->declared.name] = store.device().format_name(param->master);
    if (!exchange_.has_servers()) {
      DLHOST_ASSIGN(contact.convened, peers_.convened());
    }
  }
  return ends_.address_book.put(number_, std::move(contact));
}

// If this worker's group joins a run that went on without it, some earlier workers may have ended meanwhile.
Status Worker::connect() {
  const std::uint32_t maker = *map_.first_on(map_.machine_of(number_), place().server_group);
  for (std::uint32_t other = 0; other < map_.workers(); ++other) {
    if (lost_.is_lost(other)) ends_.post->forget(other);
    if (other == number_ || lost_.is_lost(other)) continue;
    DLHOST_ASSIGN(const Contact contact, ends_.address_book.contact(other));
    if (lost_.joining() && map_.server_group_of(other) != place().server_group) {
      DLHOST_TRY(lost_.reach_earlier(other, contact));
      continue;
    }
    const bool is_connected = other == maker && number_ != maker; // for the masters
    if (!is_connected) DLHOST_TRY(ends_.post->connect(other, contact.addresses));
    DLHOST_TRY(ends_.memory.see(other, contact));
  }
  DLHOST_TRY(ends_.memory.find_mirrors(ends_.address_book));
  const bool sees_others = number_ == 0 || exchange_.versions_outlive;
  for (std::uint32_t group = 0; sees_others && group < map_.server_groups(); ++group)
    if (group != place().server_group && !lost_.has(group))
      DLHOST_TRY(ends_.memory.see_masters_of(group, ends_.address_book));
  // A leader reads what each worker shows. Of those that were lost before it came it knows only what others told it.
  for (std::uint32_t other = 0; number_ == 0 && other < map_.workers(); ++other)
    if (lost_.is_lost(other)) DLHOST_TRY(ends_.memory.stand_in_for(other));
  return {};
}

Status Worker::join() {
  DLHOST_TRY(lost_.find_joining());
  DLHOST_TRY(connect());
  DLHOST_TRY(ends_.make_table(*this, lost_.mends(),
                              [this](std::uint32_t group, const param::Slice& slice, std::span<float> learned) {
                                return lost_.learned_by(group, slice, learned);
                              }));
  if (!exchange_.has_servers()) DLHOST_TRY(peers_.join());
  return ends_.address_book.meet(number_);
}

// The run's leader gives the order when all servers of the group have their values.
Status Worker::await_put() {
  if (number_ == 0) {
    DLHOST_TRY(ends_.table->wait_until(
        [this] { return ends_.waits.is_over(lost_.has_joined(), Waits::on(Awaited::What::answers)); }));
    DLHOST_TRY(lost_.release({}));
  }
  DLHOST_TRY(ends_.table->wait_until([this] {
    return ends_.waits.is_over(orders_.are_values_put || orders_.stopped, Waits::on(Awaited::What::beginning, 0));
  }));
  return orders_.are_values_put ? states_.land() : Status();
}

Status Worker::begin(const param::StartPoint& beginning) {
  const auto& joining = lost_.joining();
  if (joining) {
    DLHOST_TRY(lost_.bring_values());
  } else if (number_ == 0) {
    DLHOST_TRY(states_.leave());
    states_.spread();
    ends_.memory.spread_first_values(beginning.own_values);
    DLHOST_TRY(ends_.memory.show_all(beginning.own_values));
  } else {
    DLHOST_TRY(await_put());
  }
  const std::size_t slices = ends_.slices().size();
  param::StartPoint here = beginning.seen_by(place().server_group);
  here.joining = joining;
  if (here.slices.size() != slices) here.slices.clear(); // params were cut in another way
  ends_.table->begin(here);
  if (const auto& coding = ends_.memory.places().coding) coding->clear(ends_.memory.own(), here.own_values);
  if (ends_.shard && !here.ledger.empty()) DLHOST_TRY(ledgers_.keep(here));
  RunSteps& steps = ends_.steps;
  for (std::uint32_t worker = 0; worker < map_.workers(); ++worker) {
    steps.done[worker] = std::max(steps.done[worker], beginning.of_group(worker / place().workers, place().workers));
    if (lost_.is_lost(worker) && number_ == 0) ends_.memory.vitals(worker).steps = beginning.steps[worker];
  }
  if (number_ == 0) ends_.memory.vitals(0).told.store(steps.done[0], std::memory_order_release);
  steps.begun = beginning;
  if (steps.begun.slices.size() != slices) steps.begun.slices.clear();
  steps.reached = steps.begun;
  steps.reached.own_values = true;
  lost_.begin();
  if (joining) {
    if (number_ == 0) alignment_.begin_after(joining->times_aligned);
    if (ends_.shard) DLHOST_TRY(ends_.shard->join(joining->number));
    DLHOST_TRY(await_put());
  }
  lost_.have_values();
  liveness_.begin();
  set_away(false);
  return {};
}

Status Worker::put() {
  for (std::uint32_t worker = 1; worker < map_.workers(); ++worker)
    DLHOST_TRY(ends_.send(worker, param::to_worker::Put()));
  DLHOST_TRY(ends_.table->wait_until([this] { return ends_.post->all_sent(); }));
  orders_.are_values_put = true;
  return {};
}

Status Worker::see_what_was_lost() {
  liveness_.say_alive(host().clock().now());
  return ends_.table->progress(0);
}

Status Worker::watch() {
  if (look_) DLHOST_TRY(look_());
  DLHOST_TRY(lost_leader_.look());
  return liveness_.watch();
}

Status Worker::merge_states() {
  DLHOST_TRY(states_.merge());
  return ends_.await_shown();
}

Status Worker::admit(std::uint32_t server_group, param::Joining joining) {
  joining.times_aligned = alignment_.times();
  ledgers_.forget(server_group);
  return lost_.admit(server_group, joining);
}

bool Worker::have_all_made(std::uint64_t steps) const {
  for (std::uint32_t group = 0; group < map_.groups(); ++group)
    if (reached().of_group(group, place().workers) < steps) return false;
  return true;
}

Result<param::StartPoint> Worker::salvage() {
  DLHOST_TRY(ledgers_.find_heads());
  DLHOST_ASSIGN(const auto reached, salvage_.read());
  DLHOST_TRY(merge_states());
  ledgers_.reach(reached.steps);
  return reached;
}

void Worker::retire() {
  if (!ends_.table) return;
  states_.leave().ignore("the device's state is lost with it; the rest goes on from what was left last");
  ends_.table->sit_beside(nullptr, nullptr);
  ends_.memory.vitals(number_).retired.store(true, std::memory_order_release);
}

// Shows the leader the state that it saves or merges during a pause: progress, running state and own values. Puts may
// arrive in any order, and older bytes must not overwrite newer ones.
Status Worker::show_rest() {
  DLHOST_TRY(ends_.await_shown());
  beat();
  const WorkerMemory& places = ends_.memory.places();
  DLHOST_TRY(
      ends_.post->show(shown(0, places.sent, places.vitals + sizeof(Vitals) - places.sent, record::Cargo::state)));
  return ends_.await_shown();
}

Status Worker::show_away() {
  if (!ends_.has_far() || !orders_.are_values_put) return {};
  liveness_.show_at_once();
  return ends_.await_shown();
}

} // namespace dlhost::run
