// What a plugin throws stays one message: an exception that leaves a call into it becomes a Status that names the
// plugin, the instance, the phase and the step, as the fault handler does for a crash. Exceptions of core's own go on.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "plugin/activity.h"

#include <dlhost/status.h>

namespace dlhost::plugin {

// Inside catch: the text of what was caught, which a plugin wrote: cut, and fit to be shown.
std::string text_of_exception();
// What a plugin gave, its text cut and fit to be shown.
Status shown(Status);
template <class T> Result<T> shown(Result<T> result) {
  return result.ok() ? std::move(result) : Result<T>(shown(std::move(result).status()));
}

// Inside catch: what was caught, while `activity` is in a call of a plugin; else it is thrown again.
Status caught(const Activity& activity);

// `call` notes in `activity` which plugin it is in; it is in none afterwards.
template <class Call> auto contained(Activity& activity, Call&& call) -> decltype(call()) {
  try {
    auto result = call();
    activity.leave();
    return shown(std::move(result));
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

// One call that asks a plugin for what it never changes (its traits, a count): what goes wrong in it is named here, so
// that the same question may be asked without a guard later.
template <class Call> Status tried(const Actor* actor, const char* phase, Call&& call) {
  Activity activity;
  return contained(activity, actor, phase, no_step, [&]() -> Status {
    static_cast<void>(call());
    return {};
  });
}

// Destroys what a plugin has made; until that is done the calling task is in a call of it.
template <class T> void destroy(const Actor* actor, std::unique_ptr<T>& product) {
  if (!product) return;
  Activity activity;
  activity.enter(actor, "destruction");
  product.reset();
}

} // namespace dlhost::plugin
