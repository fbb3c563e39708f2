// A run, from its first attempt to its end: where processes of it die, all begin once more where they last were whole
// (docs/decisions/recovery.md); where it stands still to be arranged otherwise, it goes on from there
// (docs/decisions/scaling.md). What an attempt is, and where its points lie, is for who derives from this.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dlhost/host.h>

#include "param/file/checkpoint.h"
#include "run/recovery/recovery.h"

namespace dlhost::run {

class Attempts {
 public:
  virtual ~Attempts() = default;

 protected:
  using Point = std::optional<param::CheckpointFiles>; // none: the beginning

  Attempts(Host& host, Recovery recovery) : recovery_(std::move(recovery)), host_(host) {}

  virtual Status attempt(Point from) = 0;
  virtual Result<Point> newest_point() = 0;
  // The next attempt, in the arrangement that is wished for.
  virtual Status rearrange() = 0;
  virtual bool may_go_on() const { return true; }
  // The run was asked to save and end.
  virtual bool is_to_end() const { return false; }
  // It was, and a process died before all was saved: the run ends where it was last whole.
  virtual Status end_at(const Point&, const Status& lost) = 0;

  // After the first attempt, which ended so.
  Status go_on(Status);
  // Once more, from the newest point.
  Status again(const Status& why);
  // The newest in these folders; none was written yet: the beginning. What is there and cannot be used is an error.
  Result<Point> newest_in(const std::vector<std::string>& folders) const;

  Recovery recovery_;
  std::uint64_t steps_ = 0; // done, at the end of an attempt
  bool stands_ = false;     // it ended because the run is to be arranged otherwise

 private:
  Status end_where_whole(const Status& lost);

  Host& host_;
};

} // namespace dlhost::run
