#include "plugin/contained.h"

#include <exception>

#include "plugin/fault_text.h"

namespace dlhost::plugin {

Status caught(const Activity& activity) {
  const Doing doing = activity.doing();
  if (!doing.actor) throw;
  std::string what = "something that is no std::exception";
  try {
    throw;
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
  }
  FaultLine line;
  put_plugin(line, *doing.actor);
  line << " threw an exception in ";
  put_place(line, *doing.actor, doing.phase, doing.step);
  return Status::internal(line.text(), ": ", what);
}

} // namespace dlhost::plugin
