#include "run/session/session.h"

#include <algorithm>

#include <dlhost/parallel.h>

#include "env/process/machine.h"
#include "env/real_host.h"
#include "param/store/averaging.h"
#include "plan/refusals.h"
#include "plugin/contained.h"
#include "program/build/build.h"
#include "run/session/training_net.h"

namespace dlhost::run {
namespace {

constexpr const char* turn_option = "turn"; // an option of some devices

// A plugin that fails here is not asked again.
template <class T, class Call>
Status first_call(const plugin::Actor* actor, std::unique_ptr<T>& made, const char* phase, const Call& call) {
  Status status = plugin::tried(actor, phase, call);
  if (!status.ok()) plugin::destroy(actor, made);
  return status;
}

} // namespace

Result<std::unique_ptr<Session>> Session::open(Host& host, plugin::Registry& registry, const config::Job& job,
                                               Purpose purpose, std::uint32_t turn, const StandIn& stand_in) {
  std::unique_ptr<Session> session(new Session(host, registry, job, !inspects(purpose), turn));
  config::Problems problems;
  session->examine(purpose, problems, stand_in);
  DLHOST_TRY(problems.status());
  return session;
}

void Session::examine(Host& host, plugin::Registry& registry, const config::Job& job, Purpose purpose,
                      config::Problems& problems) {
  Session(host, registry, job, false, 0).examine(purpose, problems);
}

Result<std::unique_ptr<Session>> Session::open_beside(Session& first, std::uint32_t turn) {
  std::unique_ptr<Session> session(new Session(first.host_, first.registry_, first.job_, first.make_, turn));
  DLHOST_TRY(session->open_device());
  DLHOST_TRY(session->open_store());
  session->sources_ = first.sources_;
  session->exchange_ = first.exchange_;
  DLHOST_TRY(session->open_algorithm());
  DLHOST_TRY(session->open_updater());
  return session;
}

// Destructors of plugins may hang or crash, so they are watched.
Session::~Session() {
  evaluators_.clear();
  trainer_.reset();
  store_.reset();
  const auto destroy = [this](Kind kind, const Part& part, auto& product) {
    if (product) plugin::destroy(actor_of(kind, part), product);
  };
  destroy(Kind::algorithm, job_.train.algorithm, algorithm_);
  destroy(Kind::updater, job_.updater.plugin, updater_);
  if (sources_.use_count() == 1) // else other sessions still read them
    for (OpenSource& open : *sources_) plugin::destroy(open.actor, open.layer);
  destroy(Kind::device, masters_part(), masters_stream_);
  destroy(Kind::device, masters_part(), masters_);
  destroy(Kind::device, device_part(), stream_);
  destroy(Kind::device, device_part(), device_);
}

const plugin::Actor* Session::actor_of(Kind kind, const Part& part) {
  const auto actor = registry_.actor(kind, part.type, part.type);
  return actor.ok() ? *actor : nullptr;
}

Status Session::open_algorithm() {
  const Part& part = job_.train.algorithm;
  DLHOST_ASSIGN(algorithm_, registry_.create<Algorithm>(part.type, part.options));
  return first_call(actor_of(Kind::algorithm, part), algorithm_, "traits", [this] { return algorithm_->traits(); });
}

Status Session::open_updater() {
  const Part& part = job_.updater.plugin;
  DLHOST_ASSIGN(updater_, registry_.create<Updater>(part.type, part.options));
  if (job_.updater.average > 0)
    updater_ = std::make_unique<param::Averaging>(std::move(updater_), job_.updater.average);
  return first_call(actor_of(Kind::updater, part), updater_, "rule", [this] { return updater_->rule(); });
}

void Session::take_part(const plan::Place& place, param::SharedParams* sharing, param::DeviceSums* others,
                        program::BoxExchange* boxes) {
  look_as(place, sharing);
  sharing_ = sharing;
  others_ = others;
  boxes_ = boxes;
}

void Session::look_as(const plan::Place& place, const param::SharedLayout* shared) {
  place_ = place;
  shared_ = shared;
}

program::StepInfo Session::step_info(std::uint64_t step, std::uint32_t epoch, double rate) const {
  return {.phase = Phase::train,
          .step = step,
          .epoch = epoch,
          .seed = static_cast<std::uint64_t>(job_.seed),
          .global_batch = place_.global_batch,
          .rate = rate};
}

Status Session::open_device() {
  const auto workers = static_cast<int>(plan::Place::seats(job_.topology));
  const int threads =
      job_.train.threads > 0 ? static_cast<int>(job_.train.threads) : std::max(1, env::usable_processors() / workers);
  set_parallel_threads(threads);
  DLHOST_ASSIGN(device_, make_device(device_part()));
  DLHOST_ASSIGN(stream_, device_->stream());
  return {};
}

// The first workers of a machine use train.device, the others the masters' device.
const Part& Session::device_part() const {
  const config::Topology& topology = job_.topology;
  const bool trains_there = topology.device_workers == 0 || turn_ < topology.device_workers;
  return trains_there ? job_.train.device : masters_part();
}

const Part& Session::masters_part() const {
  static const Part cpu{"cpu", {}};
  return job_.topology.device.type.empty() ? cpu : job_.topology.device;
}

// A device with the option `turn` gets the worker's number on its machine, unless the job sets the option.
Result<std::unique_ptr<Device>> Session::make_device(Part part) {
  const auto schema = registry_.schema(Kind::device, part.type); // an unknown type is reported by create()
  if (schema.ok() && (*schema)->find(turn_option) && !part.options.find(turn_option))
    part.options.entries.emplace_back(turn_option, Value{std::int64_t{turn_}, {}});
  auto device = registry_.create<Device>(part.type, part.options);
  if (!device.ok()) return std::move(device).status().at("device '", part.type, "'");
  DLHOST_TRY(plugin::tried(actor_of(Kind::device, part), "traits", [&] { return (*device)->traits(); }));
  return device;
}

// Several workers share masters in memory that all processes map. A device whose memory the host cannot reach needs a
// separate device for them.
Status Session::open_store() {
  const config::Topology& topology = job_.topology;
  const bool near = topology.device.type.empty() && device_->traits().host_memory;
  const bool own = !plan::Place::has_seats(topology) || plan::Place::sums_on_devices(topology);
  if (own || near || &device_part() == &masters_part()) {
    store_ = std::make_unique<param::Store>(*device_, *stream_);
    return {};
  }
  DLHOST_ASSIGN(masters_, make_device(masters_part()));
  if (!masters_->traits().host_memory)
    return Status::invalid("device '", topology.device.type,
                           "' has memory that the host cannot reach, where several workers cannot share params; take "
                           "another one, or leave it out (cpu)");
  DLHOST_ASSIGN(masters_stream_, masters_->stream());
  store_ = std::make_unique<param::Store>(param::Store::Home{*masters_, *masters_stream_},
                                          param::Store::Home{*device_, *stream_});
  return crosses_beside() ? store_->land_beside() : Status();
}

bool Session::crosses_beside() const {
  using config::Crossing;
  const Crossing copy = job_.topology.copy;
  return masters_ && (copy == Crossing::async || (copy == Crossing::automatic && device_->traits().asynchronous));
}

std::int64_t Session::samples(Phase phase) const { return (*sources_)[0].source->count(phase); }

std::int64_t Session::batch(Phase phase) const {
  const auto& evaluate = phase == Phase::validate ? job_.validate : job_.test;
  if (phase == Phase::train) return place_.rows;
  if (evaluate.batch == 0) return job_.train.batch;
  return evaluate.batch;
}

std::unique_ptr<net::Graph> Session::graph(Phase phase, std::int64_t batch, config::Problems& problems) {
  std::map<std::string, net::SourceView> views;
  for (auto& open : *sources_) {
    net::SourceView view{open.source, open.outputs};
    if (!open.augment.empty()) view.outputs[0].desc = open.augment.result();
    for (auto& port : view.outputs) {
      Shape rows{batch};
      for (auto dim : port.desc.shape) rows.push_back(dim);
      port.desc.shape = rows;
    }
    views[open.name] = view;
  }
  std::optional<bool> cyclic;
  if (algorithm_) cyclic = algorithm_->traits().cyclic;
  auto graph = net::Graph::build({.job = &job_,
                                  .registry = &registry_,
                                  .activity = &activity_,
                                  .sources = &views,
                                  .phase = phase,
                                  .batch = batch,
                                  .compute = job_.train.dtype,
                                  .cyclic = cyclic},
                                 problems);
  return graph ? std::make_unique<net::Graph>(*std::move(graph)) : nullptr;
}

Result<std::unique_ptr<net::Graph>> Session::graph(Phase phase, std::int64_t batch) {
  config::Problems problems;
  auto graph = this->graph(phase, batch, problems);
  DLHOST_TRY(problems.status());
  return graph;
}

Result<program::Program*> Session::trainer() {
  if (trainer_) return trainer_.get();
  const auto traits = algorithm_->traits();
  const auto make = [this](std::int64_t batch) { return graph(Phase::train, batch); };
  DLHOST_ASSIGN(auto net, training_net(make, *algorithm_, job_, place_, registry_, activity_));
  const std::string& updater = job_.updater.plugin.type;
  DLHOST_ASSIGN(const auto* updater_actor, registry_.actor(Kind::updater, updater, updater));
  net.part.boxes = boxes_;
  const bool shares = shares_params();
  program::BuildRequest request{.graph = std::move(net.graph),
                                .part = std::move(net.part),
                                .record = std::move(net.record),
                                .device = device_.get(),
                                .registry = &registry_,
                                .device_type = device_part().type,
                                .stream = stream_.get(),
                                .store = store_.get(),
                                .activity = &activity_,
                                .training = true,
                                .needs_loss = traits.needs_loss,
                                .fuse = job_.train.fuse,
                                .block_samples = job_.train.reproducible ? place_.block() : 0,
                                .updater = updater_.get(),
                                .updater_actor = updater_actor,
                                .update_settings = {.clip_value = job_.updater.clip_value},
                                .clip_norm = shares ? 0 : job_.largest_norm(), // else the servers clip
                                .scales_loss = traits.needs_loss && plan::computes_in_f16(job_),
                                .shared = shares ? shared_ : nullptr,
                                .sharing = shares ? sharing_ : nullptr,
                                .others = shares ? nullptr : others_,
                                .crosses_beside = shares && crosses_beside(),
                                .admit = admission(Phase::train),
                                .make = make_};
  DLHOST_ASSIGN(trainer_, program::build(std::move(request)));
  return trainer_.get();
}

Result<program::Program*> Session::evaluator(Phase phase, const std::vector<std::string>& kept) {
  if (auto known = evaluators_.find(phase); known != evaluators_.end() && kept.empty()) return known->second.get();
  DLHOST_ASSIGN(auto graph, this->graph(net_of(phase), batch(phase)));
  program::Record record = program::record_features(*graph);
  auto parts = net::whole_parts(*graph);
  DLHOST_ASSIGN(evaluators_[phase], program::build({.graph = std::move(graph),
                                                    .part = {.nodes = std::move(parts)},
                                                    .record = std::move(record),
                                                    .device = device_.get(),
                                                    .registry = &registry_,
                                                    .device_type = device_part().type,
                                                    .stream = stream_.get(),
                                                    .store = store_.get(),
                                                    .activity = &activity_,
                                                    .fuse = job_.train.fuse,
                                                    .kept = kept,
                                                    .admit = admission(phase),
                                                    .make = make_}));
  return evaluators_[phase].get();
}

bool Session::has_lost_device() {
  return stream_->wait().code() == Code::gone || Memory::make(*device_, 1).status().code() == Code::gone;
}

} // namespace dlhost::run
