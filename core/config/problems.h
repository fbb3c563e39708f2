// What is wrong with a job: one line a problem, with its place in the job file, what is allowed and what was probably
// meant. Carried through every step from the file to the nets, on one task. A step says what it found wrong with what,
// and concludes nothing from what was refused before it: one mistake, one message. Of one kind of message (the same
// words, whatever the names and numbers in it), the first twenty are listed and the others counted.
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

// One problem by itself.
template <class... Parts> Status invalid_at(const Location& where, const Parts&... message) {
  const std::string place = to_string(where);
  return Status::invalid(place, place.empty() ? "" : ": ", message...);
}

class Problems {
 public:
  template <class... Parts> void add(const Location& where, const Parts&... message) {
    note({where, {}, concat(message...)});
  }
  // "train.stop: ...": refuses the key.
  template <class... Parts> void of_key(const std::string& key, const Location& where, const Parts&... message) {
    add(where, key, ": ", message...);
    refuse(key);
  }
  // "layer 'fc1': ...": refuses the layer.
  template <class... Parts> void of_layer(const std::string& name, const Location& where, const Parts&... message) {
    add(where, "layer '", name, "': ", message...);
    refuse_layer(name);
  }
  // Problems of a schema, each with the path of the table that was checked in front of its key. Refused is what they
  // are about, and what an unknown key was probably meant to be; `also` are the table's keys beside the schema's.
  void of_schema(const Schema&, std::vector<Problem>, std::string_view path,
                 std::span<const std::string_view> also = {});

  void refuse(std::string key) { keys_.insert(std::move(key)); }
  void refuse_layer(std::string name) { layers_.insert(std::move(name)); }
  // A key outside of layers, such as "train.batch": it is wrong itself, or something in it, or what it is in.
  bool refused(std::string_view key) const;
  // It is wrong, or the layers of a block that it stands for are not known.
  bool refused_layer(std::string_view name) const { return layers_.contains(name); }

  // dlhost::suggestion(), until so many names were unknown that looking for the nearest of each takes too long.
  std::string suggest(std::string_view name, std::span<const std::string> known);

  bool empty() const { return list_.empty(); }
  // How many there are, and those that are listed.
  std::size_t count() const { return count_; }
  const std::vector<Problem>& list() const { return list_; }
  // Ok, or one line for each, in the order of the files.
  Status status() const;

 private:
  void note(Problem);

  std::vector<Problem> list_;
  std::size_t count_ = 0;
  std::map<std::string, std::size_t, std::less<>> kinds_; // how many there are of each
  std::size_t others_ = 0;                                // of more kinds than are listed
  std::unordered_set<std::size_t> seen_;                  // hashes of places and messages
  std::set<std::string, std::less<>> keys_, layers_;
  std::size_t letters_compared_ = 0;
};

} // namespace dlhost::config
