#include "param/server/slice_requests.h"

#include <algorithm>

namespace dlhost::param {

SliceRequests::SliceRequests(const Setup& setup) : setup_(setup) {
  const std::size_t workers = setup.versions->contributors().all().size();
  gets_.reserve(workers);
  asks_.reserve(3 * workers); // of each: a look, a settle after a step, a settle before a pause
}

// The worker no longer reads the version before.
Status SliceRequests::take(const to_server::Get& message) {
  DLHOST_ASSIGN(const std::size_t contributor, setup_.versions->contributors().index_of(message.worker, message.slice));
  if (std::ranges::find(gets_, contributor, &Get::contributor) != gets_.end())
    return Status::corrupt("worker ", message.worker.rank, " of group ", message.worker.group, " asks twice for slice ",
                           message.slice);
  setup_.versions->unpin(contributor);
  // A worker whose step was dropped must not wait for a version without it: perhaps no other worker makes that version.
  const bool late = setup_.choices && setup_.choices->is_late(contributor, message.step);
  gets_.push_back({contributor, late ? 0 : message.at_least});
  return answer_gets();
}

void SliceRequests::wait_for_none(std::size_t contributor) {
  for (Get& get : gets_)
    if (get.contributor == contributor) get.at_least = 0;
}

Status SliceRequests::answer_gets() {
  const GroupSync* sync = setup_.sync;
  if (sync && sync->in_step() && sync->is_on(setup_.which)) return {}; // all continue from the common value
  for (std::size_t g = 0; g < gets_.size();) {
    const Get get = gets_[g];
    if (setup_.decisions->is_undecided(get.contributor) ||
        setup_.decisions->on_get(get.contributor, get.at_least) == GetVerdict::wait) {
      ++g;
      continue;
    }
    DLHOST_TRY(is_fresh(get.contributor));
    gets_.erase(gets_.begin() + static_cast<std::ptrdiff_t>(g));
    DLHOST_TRY(setup_.answers->answer_get(*setup_.versions, get.contributor));
  }
  return {};
}

Status SliceRequests::is_fresh(std::size_t contributor) const {
  const Contributors& all = setup_.versions->contributors().all();
  const SliceVersions& versions = *setup_.versions;
  const std::uint64_t made = setup_.decisions->arrived(contributor);
  const std::uint64_t staleness = setup_.decisions->traits().staleness;
  if (setup_.decisions->traits().may_drop || made <= staleness) return {};
  for (const std::size_t c : versions.contributors().indices())
    if (all.makes_steps(c) && versions.contains(c) < made - staleness)
      return Status::internal("the consistency handler answers ", versions.name_for(all[contributor]), ", after ", made,
                              " steps, though step ", versions.contains(c), " of ", versions.name_for(all[c]),
                              " is not in: its traits promise a staleness of ", staleness);
  return {};
}

Status SliceRequests::take(const to_server::Look& message) { return ask(message.worker, true, 0); }

Status SliceRequests::take(const to_server::Settle& message) { return ask(message.worker, false, message.at_least); }

Status SliceRequests::ask(WorkerId from, bool looks, Version at_least) {
  DLHOST_ASSIGN(const std::size_t contributor, setup_.versions->contributors().all().index_of(from));
  const Ask ask{contributor, looks, at_least};
  if (is_settled(ask)) return answer(ask);
  if (asks_.size() == asks_.capacity())
    return Status::corrupt("worker ", from.rank, " of group ", from.group, " has too many open requests for slice ",
                           setup_.versions->slice().id);
  asks_.push_back(ask);
  return {};
}

// While the result of an exchange waits to become the value, contributions are due, so the first test includes this.
bool SliceRequests::is_settled(const Ask& ask) const {
  if (setup_.maker->is_due() || setup_.versions->newest() < ask.at_least) return false;
  return !ask.looks || !setup_.sync || !setup_.sync->is_on(setup_.which);
}

Status SliceRequests::answer(const Ask& ask) {
  return ask.looks ? setup_.answers->answer_look(*setup_.versions, ask.contributor)
                   : setup_.answers->answer_settle(*setup_.versions, ask.contributor);
}

Status SliceRequests::answer_settled() {
  for (std::size_t a = 0; a < asks_.size();) {
    if (!is_settled(asks_[a])) {
      ++a;
      continue;
    }
    DLHOST_TRY(answer(asks_[a]));
    asks_.erase(asks_.begin() + static_cast<std::ptrdiff_t>(a));
  }
  return {};
}

} // namespace dlhost::param
