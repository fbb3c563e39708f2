#include "run/session/rates.h"

#include <algorithm>
#include <cmath>

#include "plugin/contained.h"

namespace dlhost::run {
namespace {

constexpr double epochs_unless_said = 10;

std::uint64_t planned_steps(const config::Stop& stop, const Feeds& feeds) {
  std::uint64_t planned = stop.epochs > 0 ? feeds.steps(stop.epochs) : 0;
  if (const auto steps = static_cast<std::uint64_t>(stop.steps); steps > 0)
    planned = planned == 0 ? steps : std::min(planned, steps);
  const bool ends = stop.seconds > 0 || std::isfinite(stop.loss) || std::isfinite(stop.accuracy) || stop.patience > 0;
  return planned == 0 && !ends ? feeds.steps(epochs_unless_said) : planned;
}

} // namespace

Result<Rates> Rates::make(Session& session, const Feeds& feeds) {
  Rates rates(session, feeds);
  const Part& rate = session.job().updater.rate;
  DLHOST_ASSIGN(rates.schedule_, session.registry().create<Schedule>(rate.type, rate.options));
  DLHOST_ASSIGN(rates.actor_, session.registry().actor(Kind::schedule, rate.type, rate.type));
  DLHOST_TRY(rates.schedule_->setup(session.host()));
  rates.total_steps_ = planned_steps(session.job().train.stop, feeds);
  return rates;
}

Result<double> Rates::at(std::uint64_t step) const {
  return plugin::contained(session_->activity(), actor_, "rate", step, [&]() -> Result<double> {
    return schedule_->rate({step, feeds_->epochs(step), total_steps_});
  });
}

} // namespace dlhost::run
