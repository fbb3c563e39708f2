#include "run/input/feeds.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "run/input/training_samples.h"

namespace dlhost::run {

namespace {

// The outputs of a source that the program reads on the device.
std::vector<bool> taken_there(const program::Program& program, std::size_t node) {
  std::vector<bool> taken;
  for (std::size_t o = 0; o < program.units()[node].outputs.size(); ++o)
    taken.push_back(program.takes_delivered(node, o));
  return taken;
}

bool any_of(const std::vector<bool>& outputs) { return std::ranges::find(outputs, true) != outputs.end(); }

} // namespace

FeederSpec reading(const config::Job& job, const program::Program& program) {
  FeederSpec spec;
  spec.trains = program.trains();
  spec.readers = static_cast<int>(job.train.readers);
  spec.prefetch = static_cast<int>(job.train.prefetch);
  for (const auto& unit : program.units())
    if (unit.described->source && any_of(taken_there(program, unit.node))) spec.held = Delivery::held;
  return spec;
}

Result<std::unique_ptr<Feeds>> Feeds::make(Session& session, const program::Program& program, Phase phase,
                                           std::int64_t batch, std::uint64_t end) {
  auto feeds = std::make_unique<Feeds>();
  FeederSpec spec = reading(session.job(), program);
  spec.phase = phase;
  spec.end = end;
  spec.sampling = training_samples(session.job(), spec.trains ? session.place() : plan::Place::alone(session.job()),
                                   session.sources()[0].stream);
  if (spec.trains) {
    spec.sampling.first_row = program.first_row();
    spec.sampling.rows = program.rows();
  } else {
    spec.sampling = spec.sampling.evaluation();
    spec.sampling.batch = spec.sampling.rows = batch;
  }
  if (spec.trains && session.sharing()) spec.waiting = [sharing = session.sharing()] { sharing->beat(); };
  if (!session.device().traits().host_memory) spec.device = &session.device();
  const auto& nodes = program.graph().nodes();
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (!nodes[n].source) continue;
    for (const auto& open : session.sources()) {
      if (open.source != nodes[n].source) continue;
      spec.actor = open.actor;
      spec.reads = program.units()[n].part.computes;
      DLHOST_TRY(feeds->add(session, program, n, open, spec).at("source '", open.name, "'"));
    }
  }
  if (feeds->feeders_.empty()) return Status::invalid("the net has no source in this phase");
  return feeds;
}

Status Feeds::add(Session& session, const program::Program& program, std::size_t node, const Session::OpenSource& open,
                  const FeederSpec& spec) {
  DLHOST_ASSIGN(auto feeder, Feeder::make(session.host(), *open.source, open.outputs, open.augment, spec));
  const std::vector<bool> taken = taken_there(program, node);
  std::unique_ptr<Delivery> delivery;
  if (any_of(taken)) {
    DLHOST_ASSIGN(delivery, Delivery::make(session.device(), session.stream(), *feeder, taken));
  }
  feeders_.push_back(std::move(feeder));
  deliveries_.push_back(std::move(delivery));
  sources_.push_back(&open);
  view_.sources.push_back({.node = node, .outputs = std::vector<void*>(open.outputs.size())});
  return {};
}

Result<const Batch*> Feeds::next(std::size_t source) {
  if (!deliveries_[source]) return feeders_[source]->next();
  DLHOST_ASSIGN(const auto* load, deliveries_[source]->next());
  view_.sources[source].delivered = load->outputs;
  view_.sources[source].arrived = load->arrived;
  return load->batch;
}

Result<const program::BatchView*> Feeds::next() {
  for (std::size_t f = 0; f < feeders_.size(); ++f) {
    auto read = next(f);
    if (!read.ok()) return std::move(read).status().at("source '", sources_[f]->name, "'");
    const Batch* batch = *read;
    auto& outputs = view_.sources[f].outputs;
    for (std::size_t o = 0; o < batch->outputs.size(); ++o)
      outputs[o] = const_cast<std::byte*>(batch->outputs[o]); // programs do not write it
    if (f != 0) continue;
    view_.samples = batch->samples;
    view_.valid = batch->valid;
    epoch_ = batch->epoch;
  }
  return &view_;
}

Status Feeds::halt() {
  for (auto& delivery : deliveries_)
    if (delivery) DLHOST_TRY(delivery->halt());
  return {};
}

Status Feeds::seek(std::uint64_t step) {
  DLHOST_TRY(halt());
  for (auto& feeder : feeders_) feeder->seek(step);
  return {};
}

Status Feeds::move(std::span<const SampleOrigin> origins) {
  DLHOST_TRY(halt());
  for (std::size_t f = 0; f < feeders_.size(); ++f) feeders_[f]->move(f < origins.size() ? origins[f] : SampleOrigin());
  return {};
}

std::vector<SampleOrigin> Feeds::origins() const {
  std::vector<SampleOrigin> origins;
  for (const auto& feeder : feeders_) origins.push_back(feeder->sampling().spec().origin);
  return origins;
}

nlohmann::json Feeds::state(std::uint64_t step) const {
  nlohmann::json state = nlohmann::json::array();
  for (const auto& feeder : feeders_) {
    const Sampling& sampling = feeder->sampling();
    const SampleOrigin& origin = sampling.spec().origin;
    const auto at = sampling.start(step);
    state.push_back({{"stride", sampling.stride()},
                     {"last", static_cast<int>(sampling.spec().last)},
                     {"origin", {origin.step, origin.epoch, origin.index}},
                     {"at", {at.epoch, at.index}}});
  }
  return state;
}

bool Feeds::reads_as(const nlohmann::json& state) const {
  for (std::size_t f = 0; f < feeders_.size() && f < state.size(); ++f) {
    const Sampling& sampling = feeders_[f]->sampling();
    if (state[f].at("stride") != sampling.stride() || state[f].at("last") != static_cast<int>(sampling.spec().last))
      return false;
  }
  return true;
}

std::vector<SampleOrigin> Feeds::origins(const nlohmann::json& state, std::uint64_t step) const {
  const bool same = reads_as(state);
  std::vector<SampleOrigin> origins;
  for (std::size_t f = 0; f < feeders_.size() && f < state.size(); ++f) {
    const auto &origin = state[f].at("origin"), &at = state[f].at("at");
    origins.push_back(same ? SampleOrigin{origin.at(0), origin.at(1), origin.at(2)}
                           : SampleOrigin{step, at.at(0), at.at(1)});
  }
  return origins;
}

Nanoseconds Feeds::waited() const {
  Nanoseconds time = 0;
  for (const auto& feeder : feeders_) time += feeder->waits().time;
  return time;
}

} // namespace dlhost::run
