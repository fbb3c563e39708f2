#include "env/secret.h"

#include <cstring>

#include <sodium.h>
#include <sys/stat.h>

#include <dlhost/status.h>

#include "env/hex.h"
#include "env/process/process.h"

namespace dlhost::env {

Secret draw_secret() {
  Secret secret{};
  randombytes_buf(secret.data(), secret.size());
  return secret;
}

std::string to_text(const Secret& secret) { return hex({reinterpret_cast<const char*>(secret.data()), secret.size()}); }

std::optional<Secret> secret_in(std::string_view text) {
  const auto bytes = from_hex(text);
  if (!bytes || bytes->size() != sizeof(Secret)) return {};
  Secret secret{};
  std::memcpy(secret.data(), bytes->data(), secret.size());
  return secret;
}

std::string others_who_may_read(const std::string& path, const FileAccess& access, bool in_group) {
  if (access.mode & S_IROTH)
    return concat(path, ": every user of this machine may read this file, and it holds a job's secret: chmod 600 ",
                  path);
  if (!(access.mode & S_IRGRP) || is_own_group(access.owner, access.group) || (access.owner == 0 && in_group))
    return "";
  return concat(path, ": ", group_named(access.group), " may read this file, and it holds a job's secret: chmod 600 ",
                path, access.owner == 0 ? ", or run dlhost in this group" : "");
}

std::string others_who_may_read(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return "";
  return others_who_may_read(path, {about.st_uid, about.st_gid, about.st_mode}, is_in_group(about.st_gid));
}

} // namespace dlhost::env
