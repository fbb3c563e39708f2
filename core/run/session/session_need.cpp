// The memory that a session's programs need on the host and on a device, counted before it is allocated.
#include <algorithm>

#include "env/process/machine.h"
#include "program/build/build.h"
#include "run/input/feeds.h"
#include "run/session/session.h"

namespace dlhost::run {
namespace {

void add(MemoryNeed& need, std::string what, std::size_t bytes) {
  if (bytes > 0) need.parts.push_back({std::move(what), bytes});
}

} // namespace

// Adds the needs of a program. `lends`: its params are counted with the shared memory.
void Session::add_program(MemoryNeed& need, const program::Program& program, bool lends) const {
  const program::Footprint& footprint = program.footprint();
  for (const auto& part : footprint.parts) {
    add(need,
        part.layer.empty() ? "features and gradients between layers"
                           : concat("features, gradients and buffers of layer '", part.layer, "'"),
        part.activations);
    if (!lends) add(need, concat("params of layer '", part.layer, "', with updater state"), part.params);
  }
  const std::size_t params = footprint.params - (lends ? store_->lendable() : 0);
  if (lends) add(need, "copies of params, in the formats of ops", params);
  add(need, "room for the device's ops", footprint.scratch);
  need.total += footprint.arena + footprint.scratch + params;
  need.by_batch += footprint.arena - footprint.param_gradients + footprint.scratch;
}

MemoryNeed Session::need(const program::Program& program, Phase phase) const {
  const bool shares = shared_ && phase == Phase::train;
  MemoryNeed need;
  if (device_->traits().host_memory) add_program(need, program, shares && shares_params());
  const std::size_t host = program.footprint().host;
  std::size_t ahead = 0;
  for (const auto& open : *sources_) {
    std::size_t row = open.augment.empty() ? open.outputs[0].desc.plain_bytes() : open.augment.result().plain_bytes();
    for (std::size_t o = 1; o < open.outputs.size(); ++o) row += open.outputs[o].desc.plain_bytes();
    ahead += row * static_cast<std::size_t>(batch(phase)) * reading(job_, program).slots();
  }
  add(need, "batches that are read ahead (train.prefetch)", ahead);
  const std::size_t lent = program.footprint().lent;
  add(need, "features and gradients that other workers read", lent);
  need.total += host + ahead + lent;
  need.by_batch += host + ahead + lent;
  std::size_t largest = 0;
  if (shares) {
    const auto [own, common, kept, summed] = shared_->bytes(*store_);
    need = several(std::move(need),
                   {.workers = plan::Place::seats(job_.topology), .each = own, .together = common, .summed = summed});
    largest = kept;
  }
  const std::size_t saved =
      phase == Phase::train ? std::max(largest, store_->largest_transfer(job_.checkpoint.keep > 0)) : 0;
  add(need, job_.checkpoint.keep > 0 ? "a checkpoint while it is written" : "the largest param while it is filled",
      saved);
  need.total += saved;
  return need;
}

// Two batches are on the device beside the program, because delivery works ahead.
MemoryNeed Session::device_need(const program::Program& program, Phase phase) const {
  MemoryNeed need{.of = concat("the memory of device '", device_part().type, "'")};
  add_program(need, program, phase == Phase::train && shares_params());
  std::size_t delivered = 0;
  const auto& nodes = program.graph().nodes();
  for (std::size_t node = 0; node < nodes.size(); ++node)
    for (std::size_t output = 0; nodes[node].source && output < nodes[node].setup.outputs.size(); ++output) {
      if (!program.takes_delivered(node, output)) continue;
      const TensorDesc& desc = nodes[node].setup.outputs[output].desc;
      delivered +=
          2 * desc.plain_bytes() / static_cast<std::size_t>(desc.shape[0]) * static_cast<std::size_t>(batch(phase));
    }
  add(need, "batches that are delivered ahead", delivered);
  need.total += delivered;
  need.by_batch += delivered;
  return need;
}

// Each worker checks its own device. An evaluating program is allocated beside the training one, so another batch size
// may fit.
Status Session::fits_device(const program::Program& program, Phase phase, const std::string& batch_key) const {
  if (device_->traits().host_memory) return {};
  const auto room = device_->room();
  const std::int64_t samples = phase == Phase::train ? job_.train.batch : batch(phase);
  return room ? check_room(device_need(program, phase), room->free, batch_key, samples) : Status();
}

std::function<Status(const program::Program&)> Session::admission(Phase phase) const {
  return [this, phase](const program::Program& program) -> Status {
    const std::uint64_t available = env::memory_of_machine().available_bytes;
    const std::string own_key = concat(config::key_of(phase), ".batch");
    DLHOST_TRY(fits_device(program, phase, own_key));
    if (shared_ && phase == Phase::train) {
      if (place_.group > 0 || place_.rank > 0) return {}; // the first worker counts for all
      const MemoryNeed all = need(program, phase);
      DLHOST_TRY(check_room(all, available, "train.batch", job_.train.batch));
      const auto shared = env::shared_memory_of_machine();
      return check_shared_room(all, shared.free_bytes, shared.path);
    }
    const bool own_batch = batch(phase) != job_.train.batch;
    return check_room(need(program, phase), available, own_batch ? own_key : "train.batch", batch(phase));
  };
}

} // namespace dlhost::run
