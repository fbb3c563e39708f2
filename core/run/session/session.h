// The basis of all commands that compute: the device, the params and the programs of one job, for one worker.
//
// Made once for a run, from a checked job. Sources are opened once and shared by the programs of all phases. The
// program of a phase is built when it is first asked for. Thread: one task.
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
#include "param/table/device_sums.h"
#include "param/table/shared_params.h"
#include "plan/exchange.h"
#include "plan/place.h"
#include "plugin/float_state.h"
#include "plugin/registry.h"
#include "program/program.h"
#include "program/record.h"
#include "run/session/memory_need.h"
#include "run/worker/hang_watch.h"

namespace dlhost::run {

// The use for which a session is opened.
enum class Purpose : std::uint8_t {
  training,
  looking,  // to inspect the programs that would train; their memory is not allocated
  planning, // the same, of a partition that no run may be able to execute yet
  // To read samples and evaluate; the job need not be able to train. Training files may be missing if the source names
  // files of another phase; OpenSource::without tells, and check_classes() whether the samples mean the same.
  reading,
};

constexpr bool inspects(Purpose purpose) { return purpose == Purpose::looking || purpose == Purpose::planning; }

class Session {
 public:
  // Checks everything before anything is allocated: the job's demands, its sources, the nets of its phases and, for
  // training, its needs. Errors: all problems at once, each with its place in the job. `turn`: the worker's number on
  // its machine, which selects its device. `stand_in`: makes each source instead of the job's plugin, for samples that
  // a program provides.
  using StandIn = std::function<Result<std::unique_ptr<Layer>>(const config::Layer&)>;
  static Result<std::unique_ptr<Session>> open(Host&, plugin::Registry&, const config::Job&,
                                               Purpose = Purpose::training, std::uint32_t turn = 0,
                                               const StandIn& stand_in = {});
  ~Session();
  // Adds all problems of a job that already has some.
  static void examine(Host&, plugin::Registry&, const config::Job&, Purpose, config::Problems&);

  struct OpenSource {
    std::string name;
    const plugin::Actor* actor = nullptr; // names the source in messages about exceptions, crashes and hangs
    std::unique_ptr<Layer> layer;
    Source* source = nullptr;
    net::Augment augment;
    std::vector<Port> outputs; // as the source declares them, without the batch axis
    std::uint32_t stream = 0;  // number of the layer in the job
    std::string without;       // why it was opened without its training samples; empty: it was not
  };

  // Opens a session of the same job for another worker, on the calling task. It reads from the same sources.
  static Result<std::unique_ptr<Session>> open_beside(Session&, std::uint32_t turn);
  // The session computes only these rows of each batch and shares its params. Requires: the trainer is not made yet.
  // `boxes`: the other workers of its group.
  void take_part(const plan::Place& place, param::SharedParams* sharing, param::DeviceSums* others,
                 program::BoxExchange* boxes);
  // The same, of a session that is opened for looking.
  void look_as(const plan::Place& place, const param::SharedLayout* shared);

  // Samples of a phase; 0: none. open() checks that all sources agree.
  std::int64_t samples(Phase) const;
  std::int64_t batch(Phase) const; // rows of one program
  const plan::Place& place() const { return place_; }
  // Of a job that trains.
  const plan::Exchange& exchange() const { return exchange_; }
  param::SharedParams* sharing() { return sharing_; } // null: the only worker
  program::StepInfo step_info(std::uint64_t step, std::uint32_t epoch, double rate) const;

  // The net that evaluates samples of a phase: training samples use the net for tests.
  static Phase net_of(Phase samples) { return samples == Phase::train ? Phase::test : samples; }
  // The programs for training and for evaluating the samples of a phase. `kept`: outputs to be read after a step.
  Result<program::Program*> trainer();
  Result<program::Program*> evaluator(Phase, const std::vector<std::string>& kept = {});

  Result<std::unique_ptr<net::Graph>> whole_net() { return graph(Phase::train, job_.train.batch); } // of a group
  // True if the device is lost: the worker cannot go on.
  bool has_lost_device();

  // Host memory that one of its programs needs, besides what is allocated already.
  MemoryNeed need(const program::Program&, Phase) const;
  // The same for its device, if that has its own memory.
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
      : host_(host), registry_(registry), job_(job), make_(make), turn_(turn), place_(plan::Place::alone(job)),
        hang_watch_(job.train.hang_limit) {
    plugin::FloatState::set_standard(); // whatever this task did before
  }
  Status open_device();
  Status open_store();
  // The name of one of its plugins for fault messages; null: unknown.
  const plugin::Actor* actor_of(Kind, const Part&);
  bool crosses_beside() const;
  bool shares_params() const { return shared_ && exchange_.has_servers(); }
  Result<std::unique_ptr<Device>> make_device(Part);
  const Part& device_part() const;  // the device that computes
  const Part& masters_part() const; // the device of the shared params
  Status open_algorithm();
  Status open_updater();
  // In session_examine.cpp.
  void examine(Purpose, config::Problems&, const StandIn& = {});
  void resolve_exchange(config::Problems&);
  Result<OpenSource> open_source(const config::Layer&, std::uint32_t stream, const StandIn&);
  Result<OpenSource> open_to_read(const config::Layer&, std::uint32_t stream, const StandIn&);
  void check_dtypes(config::Problems&) const;
  void open_sources(Purpose, config::Problems&, const StandIn&);
  Status find_start();
  void compare_sources(config::Problems&) const;
  void check_short_batch(config::Problems&);
  std::int64_t known_batch(Phase, const config::Problems&) const;
  std::unique_ptr<net::Graph> graph(Phase, std::int64_t batch, config::Problems&);
  Result<std::unique_ptr<net::Graph>> graph(Phase, std::int64_t batch);
  // In session_need.cpp.
  void add_program(MemoryNeed&, const program::Program&, bool lends) const;
  Status fits_device(const program::Program&, Phase, const std::string& batch_key) const;
  std::function<Status(const program::Program&)> admission(Phase) const;

  Host& host_;
  plugin::Registry& registry_;
  const config::Job& job_;
  bool make_;
  std::uint32_t turn_;
  plan::Place place_;
  plan::Exchange exchange_;
  const param::SharedLayout* shared_ = nullptr; // null: the only worker
  param::SharedParams* sharing_ = nullptr;
  param::DeviceSums* others_ = nullptr;   // set if the worker has all params for itself
  program::BoxExchange* boxes_ = nullptr; // the other workers of its group
  HangWatch hang_watch_;
  plugin::Activity activity_; // of the task that opens and uses the session
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Device> masters_; // device of the shared params, if another device computes; else null
  std::unique_ptr<Stream> masters_stream_;
  std::shared_ptr<std::vector<OpenSource>> sources_ = std::make_shared<std::vector<OpenSource>>();
  std::unique_ptr<Updater> updater_;
  std::unique_ptr<Algorithm> algorithm_;
  std::unique_ptr<param::Store> store_;
  std::unique_ptr<program::Program> trainer_;
  std::map<Phase, std::unique_ptr<program::Program>> evaluators_;
};

} // namespace dlhost::run
