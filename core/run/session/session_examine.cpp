// Finds the problems of a job beyond its keys. Each step continues with everything that was not refused before.
#include <algorithm>

#include "config/compose.h"
#include "net/extent.h"
#include "plan/check_partition.h"
#include "plan/exchange_plugins.h"
#include "plan/partition.h"
#include "plan/refusals.h"
#include "plugin/contained.h"
#include "run/input/training_samples.h"
#include "run/session/attainable.h"
#include "run/session/checkpoints.h"
#include "run/session/session.h"

namespace dlhost::run {
namespace {

// A net needs products in its dtype. Other ops of the device in that dtype do not matter.
Status multiplies_in(Device& device, DType dtype) {
  const auto of = [dtype](Shape shape) { return TensorDesc{dtype, shape, Format::plain()}; };
  return device.prepare(GemmSpec{.x = of({4, 8}), .w = of({16, 8}), .y = of({4, 16})}).status();
}

} // namespace

void Session::examine(Purpose purpose, config::Problems& problems, const StandIn& stand_in) {
  plan::check_topology(job_, problems);
  if (purpose != Purpose::reading) resolve_exchange(problems);
  const auto open = [&](const char* key, Status (Session::*part)()) {
    if (problems.refused(key)) return;
    if (const Status status = (this->*part)(); !status.ok()) problems.of_key(key, job_.place(key), status.message());
  };
  open("train.device", &Session::open_device);
  if (device_) check_dtypes(problems);
  if (device_) open("topology.device", &Session::open_store);
  open("train.algorithm", &Session::open_algorithm);
  open("updater", &Session::open_updater);
  open_sources(purpose, problems, stand_in);
  const bool trains = purpose != Purpose::reading;
  std::map<Phase, std::unique_ptr<net::Graph>> nets;
  for (const Phase phase : {Phase::train, Phase::validate, Phase::test})
    if (phase == Phase::train ? trains : !sources_->empty() && samples(phase) > 0)
      nets[phase] = graph(phase, known_batch(phase, problems), problems);
  if (problems.refused("layer")) nets.clear(); // a refused layer may be the missing one
  if (!trains) return;
  const auto& net = nets[Phase::train];
  if (net && algorithm_ && algorithm_->traits().needs_loss &&
      std::ranges::none_of(net->nodes(), [](const net::Node& node) { return node.setup.is_loss; }))
    problems.add(job_.place("train.algorithm"),
                 "the net has no loss: add a [[layer]] such as softmax_loss, or train by an algorithm that needs none");
  if (net && !problems.refused("topology")) {
    const plan::DividedRun run{exchange_, updater_ && !updater_->rule().partials.results().empty()};
    plan::check_partition(*net, job_, purpose == Purpose::planning ? nullptr : &run, problems);
  }
  check_attainable(*this, nets[Phase::validate].get(), problems);
  if (net && !sources_->empty()) check_short_batch(problems);
  if (inspects(purpose)) open("train.init_from", &Session::find_start); // a resumed run does not need train.init_from
}

// A single worker needs no handler: only handlers of single params are looked at, which must agree with the job's.
void Session::resolve_exchange(config::Problems& problems) {
  const auto has_handler = [](const config::Param& param) { return param.consistency.has_value(); };
  const auto has_own = [&](const config::Layer& layer) { return std::ranges::any_of(layer.params, has_handler); };
  if (!plan::Place::has_seats(job_.topology) && std::ranges::none_of(job_.layers, has_own)) return;
  const auto plugins = plan::ExchangePlugins::make(job_, registry_, problems);
  if (!plugins) return;
  exchange_ = plan::Exchange::of(job_, plugins->declared());
  plan::check_exchange(job_, plugins->declared(), exchange_, problems);
}

void Session::check_dtypes(config::Problems& problems) const {
  const auto refusal = [this](DType dtype) { return dtype == DType::f32 ? Status() : multiplies_in(*device_, dtype); };
  const DType common = job_.train.dtype;
  if (!problems.refused("train.dtype"))
    if (const Status status = refusal(common); !status.ok())
      problems.of_key("train.dtype", job_.place("train.dtype"), status.message());
  for (const auto& layer : job_.layers)
    if (layer.dtype && *layer.dtype != common && !problems.refused_layer(layer.name))
      if (const Status status = refusal(*layer.dtype); !status.ok())
        problems.of_layer(layer.name, layer.where, "dtype: ", status.message());
}

namespace {

// Core adds the batch axis to a sample, so a source's declaration must not depend on the batch.
Status check_samples(std::span<const Port> of_one, std::span<const Port> of_more) {
  if (of_one.size() != of_more.size())
    return Status::internal("a source that declares other outputs when asked again; this is a bug in the plugin");
  for (std::size_t i = 0; i < of_one.size(); ++i)
    if (of_one[i].desc.shape != of_more[i].desc.shape)
      return Status::internal(
          "its output '", of_one[i].name, "' is ", to_string(of_one[i].desc.shape), " for a batch of 1 and ",
          to_string(of_more[i].desc.shape),
          " for a batch of 2, but a source declares one sample, without the batch axis; this is a bug in the plugin");
  return {};
}

} // namespace

Status Session::find_start() {
  const std::string& from = job_.train.start.from;
  return from.empty() ? Status() : start_tensors(host_, config::join_path(job_.folder, from)).status();
}

// 0: the batch was refused.
std::int64_t Session::known_batch(Phase phase, const config::Problems& problems) const {
  const std::string own = concat(config::key_of(phase), ".batch");
  const bool known = !problems.refused("train.batch") && (phase == Phase::train || !problems.refused(own));
  return known ? batch(phase) : 0;
}

namespace {

// The fewest rows that count in a worker's part of a batch that is not full, 0 aside; none: all are full, or the run
// ends before.
std::optional<std::int64_t> fewest_rows(const config::Job& job, std::int64_t samples) {
  std::optional<std::int64_t> fewest;
  for (std::uint32_t seat = 0; seat < plan::Place::seats(job.topology); ++seat) {
    const auto sampling = Sampling::make(training_samples(job, plan::Place::at(job, seat), 0), samples);
    if (!sampling.ok()) return {}; // reported elsewhere
    const std::uint64_t last = sampling->steps(1) - 1;
    const config::Stop& stop = job.train.stop;
    if (stop.steps > 0 && static_cast<std::uint64_t>(stop.steps) <= last) return {};
    if (stop.epochs > 0 && sampling->steps(stop.epochs) <= last) return {};
    const std::int64_t valid = sampling->valid(last);
    if (valid > 0 && valid < sampling->rows()) fewest = std::min(fewest.value_or(valid), valid);
  }
  return fewest;
}

} // namespace

// The last batch of an epoch is as good as a batch of its rows that count. A layer that refuses so small a batch would
// only do so at that step.
void Session::check_short_batch(config::Problems& problems) {
  if (job_.train.last != config::Last::partial || problems.refused("train") || problems.refused("topology")) return;
  const auto rows = fewest_rows(job_, samples(Phase::train));
  if (!rows) return;
  config::Problems of_these;
  graph(Phase::train, *rows, of_these);
  for (const auto& layer : job_.layers)
    if (of_these.refused_layer(layer.name) && !problems.refused_layer(layer.name))
      return problems.of_key("train.last_batch", job_.place("train.last_batch"), "\"partial\" leaves a worker ", *rows,
                             *rows == 1 ? " row" : " rows", " of an epoch's last batch, which layer '", layer.name,
                             "' refuses: say \"drop\" or \"wrap\", or another train.batch (",
                             of_these.list().front().message, ")");
}

Result<Session::OpenSource> Session::open_source(const config::Layer& layer, std::uint32_t stream,
                                                 const StandIn& stand_in) {
  OpenSource open;
  open.name = layer.name;
  open.stream = stream;
  DLHOST_ASSIGN(open.layer, stand_in ? stand_in(layer) : registry_.create<Layer>(layer.type, layer.options));
  DLHOST_ASSIGN(open.actor, registry_.actor(Kind::layer, layer.type, layer.name));
  open.source = dynamic_cast<Source*>(open.layer.get());
  if (!open.source) return Status::invalid("a layer of type ", layer.type, " needs an input: add src = \"...\"");
  const auto call = [&](const char* phase, auto what) {
    return plugin::contained(activity_, open.actor, phase, plugin::no_step, what);
  };
  DLHOST_TRY(call("open", [&] { return open.source->open(host_, layer.folder); }));
  const auto outputs_for = [&](std::int64_t batch) -> Result<std::vector<Port>> {
    Setup setup;
    setup.batch = batch;
    setup.layer = layer.name;
    DLHOST_TRY(call("setup", [&] { return open.source->setup(setup); }));
    return std::move(setup.outputs);
  };
  DLHOST_ASSIGN(open.outputs, outputs_for(1));
  DLHOST_ASSIGN(const auto of_more, outputs_for(2));
  DLHOST_TRY(check_samples(open.outputs, of_more));
  for (const Phase phase : {Phase::train, Phase::validate, Phase::test})
    DLHOST_TRY(plugin::tried(open.actor, "count", [&] { return open.source->count(phase); }));
  DLHOST_TRY(plugin::tried(open.actor, "class_names", [&] { return open.source->class_names(); }));
  for (const Port& port : open.outputs)
    DLHOST_TRY(net::check_extent(port.desc.shape).at("its output '", port.name, "'"));
  if (open.outputs.empty()) return Status::internal("a source that declares no output; this is a bug in the plugin");
  return open;
}

// Without the source's training files, if these are missing and it opens without them.
Result<Session::OpenSource> Session::open_to_read(const config::Layer& layer, std::uint32_t stream,
                                                  const StandIn& stand_in) {
  auto whole = open_source(layer, stream, stand_in);
  if (whole.ok() || whole.status().code() != Code::not_found) return whole;
  config::Layer rest = layer;
  const auto names_files = [](const auto& entry) {
    return entry.first == "train" &&
           (std::holds_alternative<std::string>(entry.second.data) || std::holds_alternative<List>(entry.second.data));
  };
  if (std::erase_if(rest.options.entries, names_files) == 0) return whole;
  auto open = open_source(rest, stream, stand_in);
  if (!open.ok()) return whole;
  open->without = whole.status().message();
  host_.log().write(LogLevel::warning,
                    concat("source '", layer.name, "' is read without its training samples: ", open->without));
  return open;
}

void Session::open_sources(Purpose purpose, config::Problems& problems, const StandIn& stand_in) {
  if (problems.refused("folder")) return; // their files would be there
  std::uint32_t stream = 0;
  bool failed = false;
  for (const auto& layer : job_.layers) {
    ++stream;
    if (!layer.src.empty() || problems.refused_layer(layer.name)) continue;
    auto open =
        purpose == Purpose::reading ? open_to_read(layer, stream, stand_in) : open_source(layer, stream, stand_in);
    if (!open.ok()) {
      problems.of_layer(layer.name, layer.where, open.status().message());
      failed = true;
      continue;
    }
    auto augment = net::Augment::make(host_, layer.augment, open->outputs[0].desc);
    if (augment.ok())
      open->augment = *std::move(augment);
    else
      problems.of_layer(layer.name, layer.augment_at, augment.status().message());
    sources_->push_back(*std::move(open));
  }
  if (failed && !job_.data_from.empty())
    problems.add(job_.place("get_data"), "how to get the job's data: ", job_.data_from);
  compare_sources(problems);
}

void Session::compare_sources(config::Problems& problems) const {
  for (const Phase phase : {Phase::train, Phase::validate, Phase::test})
    for (const auto& open : *sources_) {
      const OpenSource& first = sources_->front();
      const auto count = open.source->count(phase);
      if (count != first.source->count(phase))
        problems.add(job_.layer(open.name)->where, "sources '", first.name, "' and '", open.name,
                     "' have different numbers of samples: ", first.source->count(phase), " and ", count);
    }
}

} // namespace dlhost::run
