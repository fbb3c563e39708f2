// What a plugin throws stays one message: an exception that leaves a call into it becomes a Status that names the
// plugin, the instance, the phase and the step, as the fault handler does for a crash. Exceptions of core's own go on.
#pragma once

#include "plugin/activity.h"

#include <dlhost/status.h>

namespace dlhost::plugin {

// Inside catch: what was caught, while `activity` is in a call of a plugin; else it is thrown again.
Status caught(const Activity& activity);

// `call` notes in `activity` which plugin it is in; it is in none afterwards.
template <class Call> auto contained(Activity& activity, Call&& call) -> decltype(call()) {
  try {
    auto result = call();
    activity.leave();
    return result;
  } catch (...) {
    Status status = caught(activity);
    activity.leave();
    return status;
  }
}

// One call of one plugin.
template <class Call>
auto contained(Activity& activity, const Actor* actor, const char* phase, std::uint64_t step, Call&& call)
    -> decltype(call()) {
  return contained(activity, [&] {
    activity.enter(actor, phase, step);
    return call();
  });
}

} // namespace dlhost::plugin
