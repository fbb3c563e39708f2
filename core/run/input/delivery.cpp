#include "run/input/delivery.h"

namespace dlhost::run {

Result<std::unique_ptr<Delivery>> Delivery::make(Device& device, Stream& computation, Feeder& feeder,
                                                 const std::vector<bool>& wanted) {
  std::unique_ptr<Delivery> delivery(new Delivery(device, computation, feeder));
  for (Staging& staging : delivery->stagings_) {
    for (std::size_t o = 0; o < wanted.size(); ++o) {
      if (wanted[o]) {
        DLHOST_ASSIGN(auto memory, Memory::make(device, feeder.bytes(o)));
        staging.memory.push_back(std::move(memory));
      }
      staging.load.outputs.push_back(wanted[o] ? staging.memory.back().data() : nullptr);
    }
    DLHOST_ASSIGN(staging.arrived, device.event());
    DLHOST_ASSIGN(staging.passed, device.event());
    DLHOST_ASSIGN(staging.stream, device.stream());
    staging.load.arrived = staging.arrived.get();
  }
  return delivery;
}

// Neither is the feeder's memory copied from any more, nor that of the stagings read.
Delivery::~Delivery() {
  let_pass().ignore("a device that fails here has failed before, and said so");
  for (Staging& staging : stagings_) {
    if (!staging.stream) continue; // it was not made to the end
    staging.stream->wait_for(*staging.passed).ignore("as above");
    staging.stream->wait().ignore("as above");
  }
}

Result<const Delivery::Load*> Delivery::next() {
  DLHOST_TRY(let_pass());
  if (brought_ == given_) DLHOST_TRY(bring()); // it was not read in time
  Staging& now = staging(given_++);
  if (feeder_.ready()) DLHOST_TRY(bring());
  return &now.load;
}

// All that reads what was given last has been given to the stream.
Status Delivery::let_pass() { return given_ == 0 ? Status() : computation_.record(*staging(given_ - 1).passed); }

// The next batch, to where the last but one lies, which goes back to the feeder.
Status Delivery::bring() {
  Staging& to = staging(brought_);
  DLHOST_TRY(to.stream->wait());
  auto read = feeder_.next();
  if (!read.ok()) {
    DLHOST_TRY(halt()); // the feeder may count a batch that nobody got
    return std::move(read).status();
  }
  to.load.batch = *read;
  DLHOST_TRY(to.stream->wait_for(*to.passed));
  for (std::size_t o = 0, m = 0; o < to.load.outputs.size(); ++o) {
    if (!to.load.outputs[o]) continue;
    const Memory& memory = to.memory[m++];
    DLHOST_TRY(device_.copy(*to.stream, memory.data(), to.load.batch->outputs[o], memory.size(), Direction::from_host));
  }
  DLHOST_TRY(to.stream->record(*to.arrived));
  ++brought_;
  return {};
}

Status Delivery::halt() {
  DLHOST_TRY(let_pass());
  brought_ = given_ = 0;
  for (Staging& staging : stagings_) DLHOST_TRY(staging.stream->wait());
  return {};
}

} // namespace dlhost::run
