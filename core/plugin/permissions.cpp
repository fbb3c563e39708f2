#include "plugin/search.h"

#include <cerrno>
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

#include "env/process/process.h"

namespace dlhost::plugin {

namespace fs = std::filesystem;

namespace {

bool is_trusted(uid_t owner, const Trusted& trusted) {
  return owner == 0 || owner == trusted.user || owner == trusted.program_owner;
}

void judge_one(const std::string& path, const struct stat& about, const Trusted& trusted,
               std::vector<std::string>& problems) {
  const std::string what = concat(S_ISDIR(about.st_mode)   ? "the folder "
                                  : S_ISLNK(about.st_mode) ? "the link "
                                                           : "the file ",
                                  path);
  if (!is_trusted(about.st_uid, trusted))
    problems.push_back(concat(what, " belongs to ", env::user_named(about.st_uid),
                              ", who is neither root nor you nor the owner of dlhost: copy it, or chown it"));
  if (S_ISLNK(about.st_mode)) return; // a link has no permissions of its own
  if (about.st_mode & S_IWOTH) problems.push_back(concat(what, " can be changed by everyone: chmod o-w ", path));
  if ((about.st_mode & S_IWGRP) && !env::is_own_group(about.st_uid, about.st_gid))
    problems.push_back(concat(what, " can be changed by a group that is not its owner's own: chmod g-w ", path));
}

} // namespace

Trusted trusted_by_process() {
  Trusted trusted{.user = getuid(), .program_owner = getuid()};
  struct stat program {};
  if (stat("/proc/self/exe", &program) == 0) trusted.program_owner = program.st_uid;
  return trusted;
}

std::vector<std::string> permission_problems(const std::string& path, const Trusted& trusted) {
  std::vector<std::string> problems;
  std::string here = path;
  constexpr int most_links = 40; // as the kernel's own limit
  for (int hop = 0;; ++hop) {
    struct stat about {};
    if (lstat(here.c_str(), &about) != 0) {
      problems.push_back(Status::system(errno, concat(here, hop ? " (where the link leads)" : "")).message());
      return problems;
    }
    judge_one(here, about, trusted, problems);
    if (!S_ISLNK(about.st_mode)) return problems;
    if (hop == most_links) {
      problems.push_back(concat("the link ", path, " leads round in a circle"));
      return problems;
    }
    std::error_code error;
    const auto folder = fs::path(here).parent_path();
    const auto target = folder / fs::read_symlink(here, error); // an absolute target replaces the folder
    // Folders on the way may be links as well, so the system resolves '..'.
    const auto target_folder = fs::canonical(target.parent_path(), error);
    if (error) {
      problems.push_back(
          Status::system(error.value(), concat(target.parent_path().string(), " (where the link leads)")).message());
      return problems;
    }
    here = (target_folder / target.filename()).string();
    // A user who can change the target's folder can change the target.
    struct stat around {};
    if (target_folder != folder && stat(target_folder.c_str(), &around) == 0)
      judge_one(target_folder.string(), around, trusted, problems);
  }
}

} // namespace dlhost::plugin
