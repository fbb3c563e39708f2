#include "run/worker/orders.h"

namespace dlhost::run {

namespace to_worker = param::to_worker;

bool Orders::may_come(const param::ToWorker& message, std::uint32_t from) const {
  const bool is_of_run = from == param::leading_seat, is_of_leader = from == leader;
  return param::dispatch(
      message, [](const auto&) { return true; }, // any worker may report
      [&](const to_worker::Put&) { return is_of_run; }, [&](const to_worker::Join&) { return is_of_run; },
      [&](const to_worker::Go&) { return is_of_leader; }, [&](const to_worker::Free&) { return is_of_leader; },
      [&](const to_worker::Hold&) { return is_of_leader; },
      [&](const to_worker::Stop&) { return is_of_leader || is_of_run; });
}

void Orders::note(const param::ToWorker& message, std::uint32_t from) {
  param::dispatch(
      message, [](const auto&) {}, [&](const to_worker::Put&) { are_values_put = true; },
      [&](const to_worker::Go& order) {
        go = order;
        resting = false;
      },
      [&](const to_worker::Free& order) {
        free_until = order.until;
        resting = false;
      },
      [&](const to_worker::Hold&) { holder = from; }, [&](const to_worker::Stop&) { stopped = true; },
      [&](const to_worker::Failed&) { stopped = true; });
}

} // namespace dlhost::run
