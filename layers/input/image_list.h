// The pictures of a phase and their classes: from a folder with a subfolder for each class, or from a list.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dlhost/host.h>
#include <dlhost/status.h>

namespace dlhost::input {

class ImageList {
 public:
  // Classes are the folders' names in alphabetical order. `classes`: those of training, for every other phase.
  static Result<ImageList> in_folder(Disk&, const std::string& folder, const std::vector<std::string>* classes);
  static Result<std::vector<std::string>> classes_in(Disk&, const std::string& folder);
  // These pictures and all pictures below these folders; their class is 0.
  static Result<ImageList> of(Disk&, const std::vector<std::string>& paths);
  // Each line is a path, relative to `folder`, and the number of its class. Errors name the line.
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
  // All paths in one string: a million small strings would use more memory than the rest of the program.
  std::string paths_;
  std::vector<std::uint64_t> ends_;
  std::vector<std::int32_t> labels_;
};

} // namespace dlhost::input
