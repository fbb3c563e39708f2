#include "plugin/contained.h"

#include <exception>
#include <stdexcept>

#include "env/printable.h"
#include "plugin/fault_text.h"

namespace dlhost::plugin {

std::string text_of_exception() {
  try {
    throw;
  } catch (const std::exception& error) {
    const char* const what = error.what();
    return what ? env::printable(what, env::longest_foreign_text) : "an exception without a text";
  } catch (...) {
    return "something that is not a std::exception";
  }
}

namespace {

bool refuses_data() {
  try {
    throw;
  } catch (const std::domain_error&) {
    return true;
  } catch (...) {
    return false;
  }
}

} // namespace

Status shown(Status status) {
  if (status.ok()) return status;
  return {status.code(), env::printable(status.message(), env::longest_message)};
}

Status caught(const Activity& activity) {
  const Doing doing = activity.doing();
  if (!doing.actor) throw;
  const std::string what = text_of_exception();
  FaultLine line;
  if (refuses_data()) {
    if (*doing.actor->instance)
      line << doing.actor->kind << " '" << doing.actor->instance << "'";
    else
      put_plugin(line, *doing.actor);
    if (doing.step != no_step) line << " at step " << doing.step;
    return Status::invalid(line.text(), ": ", what);
  }
  put_plugin(line, *doing.actor);
  line << " threw an exception in ";
  put_place(line, *doing.actor, doing.phase, doing.step);
  return Status::internal(line.text(), ": ", what);
}

} // namespace dlhost::plugin
