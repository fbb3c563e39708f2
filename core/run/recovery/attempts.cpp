#include "run/recovery/attempts.h"

#include <utility>

#include "run/session/checkpoints.h"

namespace dlhost::run {

Status Attempts::go_on(Status status) {
  while (true) {
    if (status.ok() && std::exchange(stands_, false))
      status = rearrange();
    else if (status.code() == Code::gone && is_to_end())
      return end_where_whole(status);
    else if (may_go_on() && recovery_.goes_on(status, steps_))
      status = again(status);
    else
      return status;
  }
}

// The run was asked to end, so its end is reported, with the point, even though a process died at the same time.
Status Attempts::end_where_whole(const Status& lost) {
  DLHOST_ASSIGN(const auto point, newest_point());
  return end_at(point, lost);
}

Status Attempts::again(const Status& why) {
  DLHOST_ASSIGN(auto point, newest_point());
  host_.log().write(LogLevel::warning, concat(why.message(), "; ", how_it_goes_on(point)));
  why_again_ = why.message();
  return attempt(std::move(point));
}

std::string Attempts::how_it_goes_on(const Point& point) const {
  return concat("the run goes on at step ", point ? Checkpoints::step_of(*point) : 0);
}

Result<Attempts::Point> Attempts::newest_in(const std::vector<std::string>& folders) const {
  std::string refused;
  auto newest = Checkpoints::newest(host_, folders, refused);
  if (newest.ok()) return Point(*std::move(newest));
  if (newest.status().code() != Code::not_found || !refused.empty()) return newest.status();
  return Point();
}

} // namespace dlhost::run
