#include "run/worker/follower.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "plugin/contained.h"
#include "run/recovery/resume_position.h"
#include "run/session/checkpoints.h"
#include "run/session/rates.h"

namespace dlhost::run {

Follower::~Follower() {
  watch_.reset();
  feeds_.reset();
  plugin::destroy(plugin::remember("", "", "worker", ""), worker_);
}

Status Follower::run() {
  Status status = prepare();
  if (status.ok()) status = steps();
  if (is_to_die(status)) return std::move(status).at("its device");
  if (worker_) worker_->retire();
  if (status.ok() || (worker_ && worker_->stopped())) return {};
  // The leader must name the worker that is gone. So this worker waits for the end and does not go first.
  if (worker_ && status.code() == Code::gone && !session_->has_lost_device())
    worker_->await_end();
  else if (worker_)
    worker_->ends().fail(status);
  return status;
}

// A process dies with its device, so that the others see it go. A task of a process reports the error instead.
bool Follower::is_to_die(const Status& status) {
  return status.code() == Code::gone && session_ && address_book_.is_of_processes() && session_->has_lost_device();
}

Status Follower::salvage(const std::string& run, const std::function<void(std::uint32_t)>& end) {
  if (!worker_ || !worker_->can_salvage()) return Status::not_found("nothing outlives the leader");
  worker_->await_retirement(end);
  DLHOST_ASSIGN(const auto reached, worker_->salvage());
  std::string refused;
  DLHOST_ASSIGN(const auto newest, Checkpoints::newest(session_->host(), Checkpoints::folders_of(run), refused));
  const nlohmann::json there =
      moved(newest.manifest->at("run").at("training"), session_->job(), *feeds_, reached, worker_->heads());
  return Checkpoints(*session_, Checkpoints::folders_of(run).back(), 1).save(there.at("step"), there);
}

Status Follower::prepare() {
  const auto& machines = address_book_.machines();
  const auto before = machines.begin() + number_;
  DLHOST_ASSIGN(session_, open_(static_cast<std::uint32_t>(std::count(machines.begin(), before, *before))));
  DLHOST_ASSIGN(worker_, Worker::make(*session_, address_book_, number_));
  session_->take_part(worker_->place(), worker_.get(), worker_.get(), &worker_->boxes());
  DLHOST_ASSIGN(const Contact leader, address_book_.contact(0));
  session_->store().prefer(leader.formats);
  DLHOST_ASSIGN(program_, session_->trainer());
  DLHOST_ASSIGN(feeds_, Feeds::make(*session_, *program_, Phase::train, session_->job().train.batch));
  return worker_->join();
}

Status Follower::steps() {
  DLHOST_ASSIGN(const param::StartPoint beginning, address_book_.begun());
  const plan::Place& place = worker_->place();
  if (beginning.steps.size() != std::size_t{place.groups} * place.workers)
    return Status::corrupt("the leader begins with ", beginning.steps.size(), " workers, and there are ",
                           place.groups * place.workers);
  next_ = beginning.of_group(place.group, place.workers);
  DLHOST_TRY(worker_->begin(beginning));
  DLHOST_TRY(worker_->spread_params());
  program_->resume_at(next_);
  DLHOST_TRY(feeds_->move(beginning.origins));
  DLHOST_TRY(feeds_->seek(next_));
  watch_.emplace(session_->host().clock(), *feeds_, *worker_);
  DLHOST_TRY(address_book_.meet(number_));
  has_begun_ = true;
  watch_->begin();
  return worker_->leads() ? lead_steps() : follow_steps();
}

Status Follower::follow_steps() {
  while (true) {
    DLHOST_ASSIGN(const auto go, worker_->next());
    if (!go) return {};
    DLHOST_TRY(step(go->step, go->rate));
    DLHOST_TRY(worker_->done(go->step, program_->metrics()));
    watch_->lap();
  }
}

Status Follower::lead_steps() {
  DLHOST_ASSIGN(const Rates rates, Rates::make(*session_, *feeds_));
  for (std::uint64_t done = next_;; ++done) {
    DLHOST_ASSIGN(const auto until, worker_->freed(done));
    if (!until) return {};
    DLHOST_ASSIGN(const double rate, rates.at(done));
    DLHOST_TRY(worker_->go(done, rate));
    DLHOST_TRY(step(done, rate));
    DLHOST_TRY(worker_->gather(done, program_->metrics()));
    watch_->lap();
  }
}

// A worker that was left behind continues with the newest step.
Status Follower::step(std::uint64_t step, double rate) {
  if (step != next_) DLHOST_TRY(feeds_->seek(step));
  next_ = step + 1;
  worker_->set_away(true);
  DLHOST_ASSIGN(const auto* batch, feeds_->next());
  worker_->set_away(false);
  return program_->run(*batch, session_->step_info(step, feeds_->epoch(), rate));
}

} // namespace dlhost::run
