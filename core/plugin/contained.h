// Turns a plugin's exception into a Status that names the plugin, the instance, the phase and the step, as the fault
// handler does for a crash. Core's own exceptions pass through.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "plugin/activity.h"

#include <dlhost/status.h>

namespace dlhost::plugin {

// Call inside catch. The exception's text, cut and made printable because a plugin wrote it.
std::string text_of_exception();
// The same for a plugin's Status.
Status shown(Status);
template <class T> Result<T> shown(Result<T> result) {
  return result.ok() ? std::move(result) : Result<T>(shown(std::move(result).status()));
}

// Call inside catch. Returns the exception as a Status if `activity` is in a plugin's call; else rethrows. A
// std::domain_error is no fault: with it, a plugin refuses data in a call that cannot return a Status.
Status caught(const Activity& activity);

// Runs `call`, which enters `activity` itself; leaves `activity` afterwards.
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

// Makes one call that asks a plugin for something constant (its traits, a count). If this succeeds, later calls need no
// guard.
template <class Call> Status tried(const Actor* actor, const char* phase, Call&& call) {
  Activity activity;
  return contained(activity, actor, phase, no_step, [&]() -> Status {
    static_cast<void>(call());
    return {};
  });
}

// Destroys an object of a plugin, noted as a call of that plugin.
template <class T> void destroy(const Actor* actor, std::unique_ptr<T>& product) {
  if (!product) return;
  Activity activity;
  activity.enter(actor, "destruction");
  product.reset();
}

} // namespace dlhost::plugin
