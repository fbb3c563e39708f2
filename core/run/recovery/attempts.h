// A run from its first attempt to its end. After the death of a process all workers begin again at the newest whole
// point (docs/decisions/recovery.md). After a pause for another topology the run continues from there
// (docs/decisions/scaling.md). Derived classes define the attempts and the places of the points.
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
  using Point = std::optional<param::CheckpointFiles>; // empty: the beginning

  Attempts(Host& host, Recovery recovery) : recovery_(std::move(recovery)), host_(host) {}

  virtual Status attempt(Point from) = 0;
  virtual Result<Point> newest_point() = 0;
  // Makes the next attempt, with the requested topology.
  virtual Status rearrange() = 0;
  virtual bool may_go_on() const { return true; }
  // True if the run was asked to save and end.
  virtual bool is_to_end() const { return false; }
  // Describes the next attempt, for the log.
  virtual std::string how_it_goes_on(const Point&) const;
  // Ends the run at its newest whole point: it was asked to end, and a process died before all was saved.
  virtual Status end_at(const Point&, const Status& lost) = 0;

  // Continues after the first attempt, which ended with this status.
  Status go_on(Status);
  // Makes another attempt from the newest point.
  Status again(const Status& why);
  // The newest point in these folders; empty: none was written yet. Errors: there are points, but none can be used.
  Result<Point> newest_in(const std::vector<std::string>& folders) const;

  Recovery recovery_;
  std::uint64_t steps_ = 0; // done at the end of the last attempt
  std::string why_again_;   // the end of the attempt before
  bool stands_ = false;     // the last attempt ended because of a new topology

 private:
  Status end_where_whole(const Status& lost);

  Host& host_;
};

} // namespace dlhost::run
