#include "run/worker/device_peers.h"

#include <utility>

#include "program/gradient_sums.h"
#include "run/worker/silence.h"

namespace dlhost::run {

Result<std::string> DevicePeers::convened() const {
  auto convened = ends_.session.device().convene();
  if (convened.ok()) return convened;
  return Status(convened.status().code(),
                concat("topology.device_copies = \"none\" with ", ends_.layout.map.workers(), " workers: device '",
                       ends_.session.job().train.device.type, "': ", convened.status().message(),
                       "; leave topology.device_copies out, and gradients are added on the host"));
}

Status DevicePeers::join() {
  DLHOST_ASSIGN(const Contact first, ends_.address_book.contact(0));
  DLHOST_ASSIGN(peers_, ends_.session.device().join(first.convened, static_cast<int>(ends_.number),
                                                    static_cast<int>(ends_.layout.map.workers())));
  return {};
}

bool DevicePeers::all_wait_for_sums() const {
  for (std::uint32_t worker = 0; worker < ends_.layout.map.workers(); ++worker)
    if (ends_.memory.vitals(worker).awaits.load(std::memory_order_relaxed).what != Awaited::What::sums) return false;
  return true;
}

// The device does not notify, so it is polled. A worker that polls shows life. If all workers have polled for too long,
// the sums are stuck.
Status DevicePeers::wait(const std::function<Result<bool>()>& done) {
  ends_.waits.is_over(false, Waits::on(Awaited::What::sums));
  Clock& clock = ends_.session.host().clock();
  const Nanoseconds begin = clock.now(), limit = liveness_.longest_silence();
  Status status = ends_.table->ask_until([&]() -> Result<bool> {
    if (stopped_) return Status::cancelled("stopped by the leader");
    if (limit > 0 && clock.now() - begin > limit && all_wait_for_sums())
      return Status::gone("all workers wait for sums of gradients, and have for ",
                          static_cast<double>((clock.now() - begin) / (one_second / 10)) / 10,
                          " s: the connection between the devices is broken");
    return done();
  });
  ends_.waits.is_over(true, {});
  if (status.code() != Code::gone) return status;
  return std::move(status).at("worker ", ends_.number, " waits for the sums of gradients");
}

// A sum in which all other workers contribute zeros.
Status DevicePeers::spread_params(param::DeviceSums& sums) {
  if (ends_.layout.exchange.has_servers() || stopped_) return {};
  param::Store& store = ends_.session.store();
  const auto& [device, stream] = store.computing();
  DLHOST_ASSIGN(const auto summing, program::GradientSums::make(device, stream, sums, store.params().size()));
  const auto spread = [&, &device = device, &stream = stream](const param::Held& held) -> Status {
    if (ends_.number != 0) DLHOST_TRY(device.fill_zero(stream, held.data(), held.size()));
    return summing->add(held.data(), static_cast<std::int64_t>(held.size() / sizeof(float)));
  };
  const auto spread_all = [&]() -> Status {
    for (const auto& param : store.params()) {
      DLHOST_TRY(spread(param->value));
      for (const param::Held& slot : param->history) DLHOST_TRY(spread(slot));
      ++param->version;
    }
    return summing->finish();
  };
  Status status = spread_all();
  if (!status.ok()) summing->give_up();
  return status;
}

} // namespace dlhost::run
