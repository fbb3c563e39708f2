#include "predict/worker.h"

#include <algorithm>

#include "param/file/import_export.h"

namespace dlhost::predict {

Status Worker::open(Host& host, plugin::Registry& registry, const config::Job& job, const run::Inputs& known) {
  batch_ = job.test.batch;
  const auto stand_in = [&](const config::Layer& source) -> Result<std::unique_ptr<Layer>> {
    const auto input = known.find(source.name);
    if (input == known.end())
      return Status::not_found(
          "it is not known what samples it gives: the params are of a job that has no such source");
    auto given = std::make_unique<GivenSource>(input->second.outputs, batch_);
    inputs_.push_back(given.get());
    names_.push_back(source.name);
    return std::unique_ptr<Layer>(std::move(given));
  };
  DLHOST_ASSIGN(session_, run::Session::open(host, registry, job, run::Purpose::reading, 0, stand_in));
  return inputs_.empty() ? Status::invalid("the net has no source: there is nothing to predict from") : Status();
}

Result<std::string> Worker::output_named(Host& host, plugin::Registry& registry, const config::Job& job,
                                         const run::Inputs& known, const std::string& layer) {
  Worker worker;
  DLHOST_TRY(worker.open(host, registry, job, known));
  DLHOST_ASSIGN(const auto* net, worker.session_->evaluator(Phase::test));
  DLHOST_ASSIGN(const net::Edge output, find_output(net->graph(), layer));
  return name_of(net->graph(), output);
}

Result<std::unique_ptr<Worker>> Worker::make(Host& host, plugin::Registry& registry, const config::Job& job,
                                             const run::Inputs& known, const param::TensorFile& params,
                                             const std::string& layer) {
  std::unique_ptr<Worker> worker(new Worker);
  DLHOST_TRY(worker->open(host, registry, job, known));
  run::Session& session = *worker->session_;
  DLHOST_ASSIGN(const auto* net, session.evaluator(Phase::test));
  DLHOST_ASSIGN(worker->output_, find_output(net->graph(), layer));
  DLHOST_ASSIGN(worker->program_, session.evaluator(Phase::test, std::vector<std::string>{layer}));
  DLHOST_TRY(param::take(params, {}, session.store()).status());
  const Shape shape = worker->program_->desc_of(worker->output_.node, worker->output_.output).shape;
  for (std::size_t axis = 1; axis < shape.rank(); ++axis) worker->output_shape_.push_back(shape[axis]);
  DLHOST_ASSIGN(worker->feeds_, run::Feeds::make(session, *worker->program_, Phase::test, worker->batch_));
  return worker;
}

Status Worker::predict(std::span<const std::byte* const> samples, std::int64_t count, std::vector<float>& into) {
  DLHOST_TRY(program_->restart());
  for (std::int64_t done = 0; done < count; done += batch_) {
    const std::int64_t rows = std::min(batch_, count - done);
    for (std::size_t input = 0; input < inputs_.size(); ++input) {
      const std::size_t bytes = inputs_[input]->first().desc.plain_bytes();
      inputs_[input]->give(samples[input] + static_cast<std::size_t>(done) * bytes, rows);
    }
    DLHOST_TRY(feeds_->seek(0)); // what was read before was given before
    DLHOST_ASSIGN(const auto* view, feeds_->next());
    program::BatchView batch = *view;
    batch.valid = rows;
    DLHOST_TRY(program_->run(batch, {.phase = Phase::test, .global_batch = batch_}));
    DLHOST_ASSIGN(const auto values, program_->read_output(output_.node, output_.output));
    into.insert(into.end(), values.begin(), values.begin() + static_cast<std::ptrdiff_t>(output_shape_.count() * rows));
  }
  return {};
}

} // namespace dlhost::predict
