// Collects the errors in a job: one line for each, with its place in the file, the allowed values and the likely
// intention. Passed through every step from the file to the nets, on one task. A step refuses the keys and layers that
// it found wrong, and later steps conclude nothing from refused ones: one mistake, one message. Of one kind of message
// (the same words with other names and numbers) the first twenty are listed and the others counted.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <dlhost/schema.h>

namespace dlhost::config {

// "job.toml:12:3"; "--set train.batch=x" for an override; empty for a value that a program made.
std::string to_string(const Location&);

// The status with the place in front of its message, if a file or an override has it.
inline Status located(Status status, const Location& where) {
  const std::string place = to_string(where);
  return place.empty() ? std::move(status) : std::move(status).at(place);
}

// A Status of one problem.
template <class... Parts> Status invalid_at(const Location& where, const Parts&... message) {
  return located(Status::invalid(message...), where);
}

class Problems {
 public:
  template <class... Parts> void add(const Location& where, const Parts&... message) {
    note({where, {}, concat(message...)});
  }
  // Message "train.stop: ..."; refuses the key.
  template <class... Parts> void of_key(const std::string& key, const Location& where, const Parts&... message) {
    add(where, key, ": ", message...);
    refuse(key);
  }
  // Message "layer 'fc1': ..."; refuses the layer.
  template <class... Parts> void of_layer(const std::string& name, const Location& where, const Parts&... message) {
    add(where, "layer '", name, "': ", message...);
    refuse_layer(name);
  }
  // Adds a schema's problems, each with `path` before its key. Refuses their keys, and the keys that unknown ones were
  // probably meant as. `also`: the table's keys beside the schema's.
  void of_schema(const Schema&, std::vector<Problem>, std::string_view path,
                 std::span<const std::string_view> also = {});

  void refuse(std::string key) { keys_.insert(std::move(key)); }
  void refuse_layer(std::string name) { layers_.insert(std::move(name)); }
  // Whether a key outside of layers, such as "train.batch", was refused itself, or something inside it or around it.
  bool refused(std::string_view key) const;
  // Whether the layer was refused, or the layers of that use of a block are unknown.
  bool refused_layer(std::string_view name) const { return layers_.contains(name); }

  // dlhost::suggestion(), up to a limit on the total work of finding nearest names.
  std::string suggest(std::string_view name, std::span<const std::string> known);

  bool empty() const { return list_.empty(); }
  // The number of all problems, and the listed ones.
  std::size_t count() const { return count_; }
  const std::vector<Problem>& list() const { return list_; }
  // Ok, or one line for each problem, in the order of the files.
  Status status() const;

 private:
  void note(Problem);

  std::vector<Problem> list_;
  std::size_t count_ = 0;
  std::map<std::string, std::size_t, std::less<>> kinds_; // number of problems of each kind
  std::size_t others_ = 0;                                // problems of further kinds
  std::unordered_set<std::size_t> seen_;                  // hashes of place and message
  std::set<std::string, std::less<>> keys_, layers_;
  std::size_t letters_compared_ = 0;
};

} // namespace dlhost::config
