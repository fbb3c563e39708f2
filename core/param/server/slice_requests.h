// The open requests of workers for one slice, and when they are answered:
//
//   Get     Value    the consistency handler serves it; the chooser has decided about the worker's last update; and no
//                    exchange in step is on
//   Look    Seen     no contribution is due and no exchange is on
//   Settle  Settled  no contribution is due; the version exists
//
// Owns: the requests. Thread: the server's. Does not allocate after construction, except for errors.
#pragma once

#include <cstdint>
#include <vector>

#include "param/exchange/group_sync.h"
#include "param/server/answers.h"
#include "param/server/slice_decisions.h"
#include "param/server/slice_versions.h"
#include "param/server/step_choices.h"
#include "param/server/version_maker.h"

namespace dlhost::param {

class SliceRequests {
 public:
  struct Setup {
    const StepChoices* choices = nullptr; // null: steps are not chosen
    SliceVersions* versions = nullptr;
    const VersionMaker* maker = nullptr;
    SliceDecisions* decisions = nullptr;
    Answers* answers = nullptr;
    const GroupSync* sync = nullptr; // exchanges the slice's values with other server groups; null: there are none
    std::size_t which = 0;           // the index of the slice in the exchange
  };
  explicit SliceRequests(const Setup&);

  // Errors: corrupt if the worker is no contributor, or has too many open requests.
  Status take(const to_server::Get&);
  Status take(const to_server::Look&);
  Status take(const to_server::Settle&);
  // A step of the contributor makes no version: its `Get` waits for none.
  void wait_for_none(std::size_t contributor);
  // Answers the requests that can be answered now. Called when the slice has changed.
  Status answer_gets();
  Status answer_settled();

 private:
  struct Get {
    std::size_t contributor = 0;
    Version at_least = 0;
  };
  struct Ask {
    std::size_t contributor = 0;
    bool looks = false; // else it settles
    Version at_least = 0;
  };
  Status ask(WorkerId, bool looks, Version at_least);
  bool is_settled(const Ask&) const;
  Status answer(const Ask&);
  // Errors: internal if the handler serves an older version than its traits promise.
  Status is_fresh(std::size_t contributor) const;

  const Setup setup_;
  std::vector<Get> gets_; // at most one of each contributor
  std::vector<Ask> asks_;
};

} // namespace dlhost::param
