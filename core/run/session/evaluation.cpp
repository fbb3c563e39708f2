#include "run/session/evaluation.h"

#include <algorithm>

#include <dlhost/sink.h>

#include "plugin/contained.h"
#include "run/input/feeds.h"
#include "run/session/averages.h"

namespace dlhost::run {
namespace {

// Calls `what` of each sink of the program.
template <class What>
Status each_sink(Session& session, const program::Program& program, const char* phase, What what) {
  for (const auto& unit : program.units()) {
    auto* sink = dynamic_cast<Sink*>(unit.layer);
    if (!sink) continue;
    const std::string& name = unit.described->name;
    DLHOST_TRY(plugin::contained(session.activity(), unit.described->actor, phase, plugin::no_step, [&] {
                 return what(*sink, name);
               }).at("layer '", name, "'"));
  }
  return {};
}

std::string folder_of(const config::Job& job, const std::string& layer) {
  const auto found = std::ranges::find(job.layers, layer, &config::Layer::name);
  return found == job.layers.end() ? std::string() : found->folder;
}

// Adds a batch's tables to those of the batches before.
void add_tables(const program::Program& program, std::vector<record::Table>& sums) {
  for (std::size_t t = 0; t < program.tables().size(); ++t) {
    const record::Table& batch = program.tables()[t].last;
    if (t == sums.size())
      sums.push_back(batch);
    else
      std::ranges::transform(batch.counts, sums[t].counts, sums[t].counts.begin(), std::plus<>{});
  }
}

} // namespace

Result<Evaluation> evaluate(Session& session, Phase phase, const std::vector<std::string>& kept,
                            const OnBatch& on_batch) {
  Evaluation evaluation;
  const std::int64_t samples = session.samples(phase);
  if (samples == 0) return evaluation;
  const std::int64_t batch = session.batch(phase);
  const auto steps = static_cast<std::uint64_t>((samples + batch - 1) / batch);
  DLHOST_ASSIGN(auto* program, session.evaluator(phase, kept));
  DLHOST_ASSIGN(auto feeds, Feeds::make(session, *program, phase, batch, steps));
  DLHOST_TRY(program->restart());
  DLHOST_TRY(each_sink(session, *program, "open", [&](Sink& sink, const std::string& name) {
    return sink.open(session.host(), folder_of(session.job(), name), samples);
  }));
  Averages averages;
  Clock& clock = session.host().clock();
  const Nanoseconds begin = clock.now();
  for (std::uint64_t step = 0; step < steps; ++step) {
    DLHOST_ASSIGN(const auto* view, feeds->next());
    DLHOST_TRY(program->run(*view, {.phase = Session::net_of(phase),
                                    .step = step,
                                    .seed = static_cast<std::uint64_t>(session.job().seed),
                                    .global_batch = batch}));
    if (session.sharing()) session.sharing()->beat(); // the others wait for this one
    evaluation.samples += view->valid;
    averages.add(program->metrics());
    add_tables(*program, evaluation.tables);
    if (on_batch) DLHOST_TRY(on_batch(*program, *view));
  }
  DLHOST_TRY(each_sink(session, *program, "close", [](Sink& sink, const std::string&) { return sink.close(); }));
  evaluation.seconds = static_cast<double>(clock.now() - begin) * 1e-9;
  evaluation.metrics = averages.read(program->metrics());
  for (const auto& metric : program->metrics())
    if (metric.better_high) evaluation.rising.push_back(metric.name);
  return evaluation;
}

} // namespace dlhost::run
