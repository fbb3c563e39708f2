// How config says what is wrong: one line a problem, with its place in the job file, what is allowed and what was
// probably meant. Called by every step of load(), on one task.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dlhost/schema.h>

namespace dlhost::config {

// "job.toml:12:3"; "--set train.batch=x" for an override; empty for a value that a program made.
std::string to_string(const Location&);

// One problem by itself.
template <class... Parts> Status invalid_at(const Location& where, const Parts&... message) {
  const std::string place = to_string(where);
  return Status::invalid(place, place.empty() ? "" : ": ", message...);
}

// Collects problems; every step of loading goes on after one, so that all are reported at once.
class Problems {
 public:
  template <class... Parts> void add(const Location& where, const Parts&... message) {
    list_.push_back({where, {}, concat(message...)});
  }
  // Problems of a schema, each with the path of the table that was checked in front of its key; `suffix` says more
  // about where that table comes from.
  void add(std::vector<Problem>, std::string_view path, std::string_view suffix = {});

  bool empty() const { return list_.empty(); }
  const std::vector<Problem>& list() const { return list_; }
  // Ok, or one line for each, in the order of the files.
  Status status() const;

 private:
  std::vector<Problem> list_;
};

} // namespace dlhost::config
