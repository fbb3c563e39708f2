#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <mutex>

#include <dlhost/predict.h>
#include <nlohmann/json.hpp>

#include "config/load.h"
#include "env/json_text.h"
#include "env/real_host.h"
#include "plugin/registry.h"
#include "predict/worker.h"
#include "record/run_folder.h"
#include "run/session/checkpoints.h"

namespace dlhost {

namespace {

const char own_address = 0; // an address inside this library

} // namespace

// The host and the plugins of this process, and one worker for each concurrent call of predict().
class Predictor::Net {
 public:
  static Result<std::unique_ptr<Net>> open(const std::string& path, Options options);

  Result<std::unique_ptr<predict::Worker>> borrow() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto worker = std::move(idle_.back());
        idle_.pop_back();
        return worker;
      }
    }
    return predict::Worker::make(host_, *registry_, job_, known_, params_, layer_);
  }
  void give_back(std::unique_ptr<predict::Worker> worker) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(worker));
  }

  std::vector<Input> inputs;
  Shape output;
  std::vector<std::string> classes;

 private:
  Status find_plugins(std::vector<std::string> folders);
  Status find_params(const std::string& path, const Options&);
  Status load_job(const Options&);
  Status describe();

  env::RealHost host_{LogLevel::warning};
  std::unique_ptr<plugin::Registry> registry_;
  config::Job job_;
  std::string job_file_;
  run::Inputs known_;
  param::TensorFile params_;
  std::string layer_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<predict::Worker>> idle_; // destroyed before the members that they refer to
};

// Adds the plugin folder installed beside this library, whichever program has loaded it.
Status Predictor::Net::find_plugins(std::vector<std::string> folders) {
  Dl_info library{};
  if (dladdr(&own_address, &library) != 0 && library.dli_fname) {
    const auto installed = std::filesystem::path(library.dli_fname).parent_path() / "dlhost/plugins";
    if (host_.disk().exists(installed.string())) folders.push_back(installed.string());
  }
  registry_ = std::make_unique<plugin::Registry>(plugin::entries_of(plugin::settings_of_process(folders)), host_);
  host_.set_maker([this](Kind kind, const Part& part) { return registry_->make(kind, part.type, part.options); });
  return plugin::any_found(registry_->catalogue());
}

// Also reads the input description that dlhost writes into files of params.
Status Predictor::Net::find_params(const std::string& path, const Options& options) {
  nlohmann::json said;
  if (!host_.disk().exists(path)) return Status::not_found("there is no run, checkpoint or file '", path, "'");
  if (host_.disk().list(path).ok()) { // a folder
    DLHOST_ASSIGN(auto checkpoint,
                  options.last ? run::Checkpoints::find(host_, path) : run::Checkpoints::find_best(host_, path));
    if (options.averaged) DLHOST_TRY(param::use_averages(checkpoint));
    const auto& about = checkpoint.manifest->at("run");
    if (about.is_object()) said = about.value("inputs", nlohmann::json());
    if (job_file_.empty()) {
      DLHOST_ASSIGN(job_file_, record::RunFolder::job_above(host_.disk(), path, "name the job (Options::job)"));
    }
    DLHOST_ASSIGN(params_, param::tensors_of(std::move(checkpoint)));
  } else {
    if (job_file_.empty())
      return Status::invalid("'", path, "' holds params alone: name the job of its net (Options::job)");
    DLHOST_ASSIGN(params_, param::open_tensors(host_.disk(), path));
    if (const auto found = params_.metadata.find(param::inputs_key); found != params_.metadata.end())
      said = env::json_or_discarded(found->second);
  }
  DLHOST_ASSIGN(known_, run::inputs_of(said, concat("'", path, "'")));
  return {};
}

Status Predictor::Net::load_job(const Options& options) {
  DLHOST_ASSIGN(job_, config::load(host_.disk(), job_file_, options.set, *registry_));
  if (options.batch < 1) return Status::invalid("Options::batch is ", options.batch, ", but must be at least 1");
  job_.test.batch = options.batch;
  job_.topology = {};     // one worker
  job_.train.readers = 0; // samples are in memory: nothing to read ahead
  job_.train.prefetch = 0;
  return {};
}

Status Predictor::Net::describe() {
  DLHOST_ASSIGN(layer_, predict::Worker::output_named(host_, *registry_, job_, known_, layer_));
  predict::keep_what_makes(layer_.substr(0, layer_.find(':')), job_);
  DLHOST_ASSIGN(auto worker, borrow());
  for (std::size_t input = 0; input < worker->inputs().size(); ++input) {
    const Port& port = worker->inputs()[input]->first();
    inputs.push_back({worker->names()[input], port.desc.dtype, port.desc.shape});
  }
  for (const auto& [name, input] : known_)
    if (classes.empty()) classes = input.classes;
  output = worker->output();
  give_back(std::move(worker));
  return {};
}

Result<std::unique_ptr<Predictor::Net>> Predictor::Net::open(const std::string& path, Options options) {
  auto net = std::make_unique<Net>();
  net->job_file_ = options.job;
  net->layer_ = options.layer;
  DLHOST_TRY(net->find_plugins(std::move(options.plugin_folders)));
  DLHOST_TRY(net->find_params(path, options));
  DLHOST_TRY(net->load_job(options));
  DLHOST_TRY(net->describe());
  return net;
}

Predictor::Predictor(std::unique_ptr<Net> net) : net_(std::move(net)) {}
Predictor::~Predictor() = default;
Predictor::Predictor(Predictor&&) noexcept = default;
Predictor& Predictor::operator=(Predictor&&) noexcept = default;

Result<Predictor> Predictor::open(const std::string& path) { return open(path, Options()); }

Result<Predictor> Predictor::open(const std::string& path, Options options) {
  DLHOST_ASSIGN(auto net, Net::open(path, std::move(options)));
  return Predictor(std::move(net));
}

const std::vector<Predictor::Input>& Predictor::inputs() const { return net_->inputs; }
const Shape& Predictor::output() const { return net_->output; }
const std::vector<std::string>& Predictor::classes() const { return net_->classes; }

Result<std::vector<float>> Predictor::predict(std::span<const void* const> inputs, std::int64_t samples) {
  if (inputs.size() != net_->inputs.size())
    return Status::invalid("samples of ", inputs.size(), " inputs are given, but the net has ", net_->inputs.size());
  std::vector<const std::byte*> begins;
  for (const void* input : inputs) begins.push_back(static_cast<const std::byte*>(input));
  std::vector<float> values;
  DLHOST_ASSIGN(auto worker, net_->borrow());
  DLHOST_TRY(worker->predict(begins, samples, values)); // a failed worker is not used again
  net_->give_back(std::move(worker));
  return values;
}

Result<std::vector<float>> Predictor::predict_typed(DType given, const void* samples, std::size_t count) {
  const Input& input = net_->inputs[0];
  const auto elements = static_cast<std::size_t>(input.shape.count());
  const auto refused = [&](const auto&... why) {
    return Status::invalid("input '", input.layer, "' takes samples of ", to_string(input.shape), " ",
                           name_of(input.dtype), ", but ", why...);
  };
  if (given != input.dtype) return refused("values of ", name_of(given), " are given");
  if (count % elements != 0) return refused(count, " values are given, which is not a whole number of samples");
  return predict(std::span<const void* const>(&samples, 1), static_cast<std::int64_t>(count / elements));
}

Result<std::vector<float>> Predictor::predict(std::span<const float> samples) {
  return predict_typed(DType::f32, samples.data(), samples.size());
}
Result<std::vector<float>> Predictor::predict(std::span<const std::uint8_t> samples) {
  return predict_typed(DType::u8, samples.data(), samples.size());
}
Result<std::vector<float>> Predictor::predict(std::span<const std::int32_t> samples) {
  return predict_typed(DType::i32, samples.data(), samples.size());
}

} // namespace dlhost
