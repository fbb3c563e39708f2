#include "run/feeds.h"

#include <nlohmann/json.hpp>

#include "run/training_samples.h"

namespace dlhost::run {

Result<std::unique_ptr<Feeds>> Feeds::make(Session& session, const program::Program& program, Phase phase,
                                           std::int64_t batch, std::uint64_t end) {
  auto feeds = std::make_unique<Feeds>();
  const auto& nodes = program.graph().nodes();
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (!nodes[n].source) continue;
    for (const auto& open : session.sources()) {
      if (open.source != nodes[n].source) continue;
      FeederSpec spec;
      spec.phase = phase;
      spec.actor = open.actor;
      spec.end = end;
      spec.readers = static_cast<int>(session.job().train.readers);
      spec.prefetch = static_cast<int>(session.job().train.prefetch);
      const bool trains = spec.trains = program.trains();
      spec.sampling = training_samples(session.job(), trains ? session.place() : Place::alone(session.job()),
                                       session.sources()[0].stream);
      if (!trains) {
        spec.sampling = spec.sampling.evaluation();
        spec.sampling.batch = spec.sampling.rows = batch;
      }
      if (trains && session.sharing()) spec.waiting = [sharing = session.sharing()] { sharing->beat(); };
      auto feeder = Feeder::make(session.host(), *open.source, open.outputs, open.augment, spec);
      if (!feeder.ok()) return std::move(feeder).status().at("source '", open.name, "'");
      feeds->feeders_.push_back(*std::move(feeder));
      feeds->names_.push_back(open.name);
      feeds->view_.sources.push_back({n, std::vector<void*>(open.outputs.size())});
    }
  }
  if (feeds->feeders_.empty()) return Status::invalid("the net has no source in this phase");
  return feeds;
}

Result<const program::BatchView*> Feeds::next() {
  for (std::size_t f = 0; f < feeders_.size(); ++f) {
    auto read = feeders_[f]->next();
    if (!read.ok()) return std::move(read).status().at("source '", names_[f], "'");
    const Batch* batch = *read;
    auto& outputs = view_.sources[f].outputs;
    for (std::size_t o = 0; o < outputs.size(); ++o)
      outputs[o] = const_cast<std::byte*>(batch->outputs[o]); // programs only read it
    if (f != 0) continue;
    view_.samples = batch->samples;
    view_.valid = batch->valid;
    epoch_ = batch->epoch;
  }
  return &view_;
}

void Feeds::seek(std::uint64_t step) {
  for (auto& feeder : feeders_) feeder->seek(step);
}

void Feeds::move(std::span<const Origin> origins) {
  for (std::size_t f = 0; f < feeders_.size(); ++f) feeders_[f]->move(f < origins.size() ? origins[f] : Origin());
}

std::vector<Origin> Feeds::origins() const {
  std::vector<Origin> origins;
  for (const auto& feeder : feeders_) origins.push_back(feeder->sampling().spec().origin);
  return origins;
}

nlohmann::json Feeds::state(std::uint64_t step) const {
  nlohmann::json state = nlohmann::json::array();
  for (const auto& feeder : feeders_) {
    const Sampling& sampling = feeder->sampling();
    const Origin& origin = sampling.spec().origin;
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

std::vector<Origin> Feeds::origins(const nlohmann::json& state, std::uint64_t step) const {
  const bool same = reads_as(state);
  std::vector<Origin> origins;
  for (std::size_t f = 0; f < feeders_.size() && f < state.size(); ++f) {
    const auto &origin = state[f].at("origin"), &at = state[f].at("at");
    origins.push_back(same ? Origin{origin.at(0), origin.at(1), origin.at(2)} : Origin{step, at.at(0), at.at(1)});
  }
  return origins;
}

Nanoseconds Feeds::waited() const {
  Nanoseconds time = 0;
  for (const auto& feeder : feeders_) time += feeder->waits().time;
  return time;
}

} // namespace dlhost::run
