// The machine's steady clock, for real runs. Any thread may call it.
#pragma once

#include <dlhost/host.h>

namespace dlhost::env {

class SteadyClock : public Clock {
 public:
  Nanoseconds now() override;
  void sleep(Nanoseconds) override;
  double wall_seconds() override;
};

} // namespace dlhost::env
