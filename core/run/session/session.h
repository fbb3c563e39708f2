// What every command that computes stands on: the device, the params and the programs of one job, on one worker.
//
// Made once for a run, from a checked job. Sources are opened once and shared by the programs of all phases; a program
// is built when its phase is first asked for. Used by one task.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <dlhost/algorithm.h>
#include <dlhost/host.h>
#include <dlhost/updater.h>

#include "config/job.h"
#include "config/problems.h"
#include "net/augment.h"
#include "param/store/store.h"
#include "plugin/float_state.h"
#include "plugin/registry.h"
#include "program/program.h"
#include "program/record.h"
#include "run/session/memory_need.h"
#include "run/worker/hang_watch.h"
#include "run/worker/place.h"

namespace dlhost::run {

// What a session is opened for.
enum class Purpose : std::uint8_t {
  training,
  looking, // at the programs that would train: their memory is never made
  reading, // samples, and the nets that evaluate them; whether the job can train does not matter
};

class Session {
 public:
  // All that is wrong at once, each with its place in the job: with what it asks for, its sources, the nets of its
  // phases, and, where it is to train, with what that needs. Before anything is made. `turn`: the worker's among those
  // of its machine, which says on what it computes.
  // `stand_in` makes each source in place of the plugin that the job names: for samples that a program gives.
  using StandIn = std::function<Result<std::unique_ptr<Layer>>(const config::Layer&)>;
  static Result<std::unique_ptr<Session>> open(Host&, plugin::Registry&, const config::Job&,
                                               Purpose = Purpose::training, std::uint32_t turn = 0,
                                               const StandIn& stand_in = {});
  ~Session();
  // What else is wrong with a job that has problems already.
  static void examine(Host&, plugin::Registry&, const config::Job&, Purpose, config::Problems&);

  struct OpenSource {
    std::string name;
    const plugin::Actor* actor = nullptr; // how it is named when it throws, crashes or hangs
    std::unique_ptr<Layer> layer;
    Source* source = nullptr;
    net::Augment augment;
    std::vector<Port> outputs; // as the source declares them: without the batch axis
    std::uint32_t stream = 0;  // by its place in the job
  };

  // One more for the same job, on the calling task, for a worker beside: it reads from the same sources.
  static Result<std::unique_ptr<Session>> open_beside(Session&, std::uint32_t turn);
  // Before the trainer is made: it computes these rows of each batch only, and shares its params.
  void take_part(const Place& place, param::SharedParams* sharing, param::DeviceSums* others);

  // Samples that a phase has; 0: it has none. Sources that disagree are an error found by open().
  std::int64_t samples(Phase) const;
  std::int64_t batch(Phase) const; // rows of one program
  const Place& place() const { return place_; }
  param::SharedParams* sharing() { return sharing_; } // null: this worker is the only one
  program::StepInfo step_info(std::uint64_t step, std::uint32_t epoch, double rate) const;

  // The net that evaluates the samples of a phase: those of training are measured as those of a test are.
  static Phase net_of(Phase samples) { return samples == Phase::train ? Phase::test : samples; }
  // The program that trains, or that evaluates the samples of a phase. `kept`: outputs to be read after a step.
  Result<program::Program*> trainer();
  Result<program::Program*> evaluator(Phase, const std::vector<std::string>& kept = {});

  // Nothing can be computed here any more: its worker is as good as dead.
  bool has_lost_device();

  // What one of its programs takes of the host's memory, beside what is made already.
  MemoryNeed need(const program::Program&, Phase) const;
  // And of its device's, where that is another.
  MemoryNeed device_need(const program::Program&, Phase) const;

  const config::Job& job() const { return job_; }
  Host& host() { return host_; }
  plugin::Registry& registry() { return registry_; }
  Device& device() { return *device_; }
  const Device& device() const { return *device_; }
  Stream& stream() { return *stream_; }
  param::Store& store() { return *store_; }
  const param::Store& store() const { return *store_; }
  const Updater& updater() const { return *updater_; }
  plugin::Activity& activity() { return activity_; }
  HangWatch& hang_watch() { return hang_watch_; }
  std::vector<OpenSource>& sources() { return *sources_; }
  const std::vector<OpenSource>& sources() const { return *sources_; }

 private:
  Session(Host& host, plugin::Registry& registry, const config::Job& job, bool make, std::uint32_t turn)
      : host_(host), registry_(registry), job_(job), make_(make), turn_(turn), place_(Place::alone(job)),
        hang_watch_(job.train.hang_limit) {
    plugin::FloatState::set_standard(); // whatever this task did before
  }
  Status open_device();
  Status open_store();
  // How one of its plugins is named; null: it cannot be.
  const plugin::Actor* actor_of(Kind, const Part&);
  bool crosses_beside() const;
  bool shares_params() const; // with others; else it has all for itself
  Result<std::unique_ptr<Device>> make_device(Part);
  const Part& device_part() const;  // of the one that this worker computes on
  const Part& masters_part() const; // of the one that has the params, where not that
  Status open_algorithm();
  Status open_updater();
  // In session_examine.cpp.
  void examine(Purpose, config::Problems&, const StandIn& = {});
  Result<OpenSource> open_source(const config::Layer&, std::uint32_t stream, const StandIn&);
  void check_dtypes(config::Problems&) const;
  void open_sources(config::Problems&, const StandIn&);
  Status find_start();
  void compare_sources(config::Problems&) const;
  std::int64_t known_batch(Phase, const config::Problems&) const;
  std::unique_ptr<net::Graph> graph(Phase, std::int64_t batch, config::Problems&);
  Result<std::unique_ptr<net::Graph>> graph(Phase, std::int64_t batch);
  Result<program::Record> record(std::unique_ptr<net::Graph>&, Algorithm&);
  // In session_need.cpp.
  void add_program(MemoryNeed&, const program::Program&, bool lends) const;
  Status fits_device(const program::Program&, Phase, const std::string& batch_key) const;
  std::function<Status(const program::Program&)> admission(Phase) const;

  Host& host_;
  plugin::Registry& registry_;
  const config::Job& job_;
  bool make_;
  std::uint32_t turn_;
  Place place_;
  param::SharedParams* sharing_ = nullptr;
  param::DeviceSums* others_ = nullptr; // where it has all params for itself
  HangWatch hang_watch_;
  plugin::Activity activity_; // of the task that opens and uses the session
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Device> masters_; // has the params of several workers, where another one computes; else null
  std::unique_ptr<Stream> masters_stream_;
  std::shared_ptr<std::vector<OpenSource>> sources_ = std::make_shared<std::vector<OpenSource>>();
  std::unique_ptr<Updater> updater_;
  std::unique_ptr<Algorithm> algorithm_;
  std::unique_ptr<param::Store> store_;
  std::unique_ptr<program::Program> trainer_;
  std::map<Phase, std::unique_ptr<program::Program>> evaluators_;
};

} // namespace dlhost::run
