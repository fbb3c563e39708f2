// The pictures of a phase and their classes: found in a folder with a folder for each class, or named in a list.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dlhost/host.h>
#include <dlhost/status.h>

namespace dlhost::input {

class ImageList {
 public:
  // Classes are the folders' names in alphabetical order; `classes`, those of training, for every other phase.
  static Result<ImageList> in_folder(Disk&, const std::string& folder, const std::vector<std::string>* classes);
  static Result<std::vector<std::string>> classes_in(Disk&, const std::string& folder);
  // These pictures, and all in these folders and below them; of class 0.
  static Result<ImageList> of(Disk&, const std::vector<std::string>& paths);
  // A line a picture: a path, relative to `folder`, and the number of its class. Messages name the line.
  static Result<ImageList> parse(std::string_view text, const std::string& folder);

  std::int64_t count() const { return static_cast<std::int64_t>(labels_.size()); }
  std::string path(std::int64_t image) const;
  std::int32_t label(std::int64_t image) const { return labels_[static_cast<std::size_t>(image)]; }
  const std::vector<std::string>& classes() const { return classes_; } // empty for a list

 private:
  explicit ImageList(std::string folder) : folder_(std::move(folder)) {}
  Status add_folder(Disk&, const std::string& below, std::int32_t label, int depth);
  void add(std::string_view path, std::int32_t label);

  std::string folder_;
  std::vector<std::string> classes_;
  // All paths in one piece: a million small strings would cost more than the rest of the program.
  std::string paths_;
  std::vector<std::uint64_t> ends_;
  std::vector<std::int32_t> labels_;
};

} // namespace dlhost::input
