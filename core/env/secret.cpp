#include "env/secret.h"

#include <cstring>
#include <filesystem>

#include <sodium.h>

#include "env/hex.h"

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

bool others_may_read(const std::string& path) {
  std::error_code unknown; // opening the file reports the error
  const auto modes = std::filesystem::status(path, unknown).permissions();
  return !unknown && (modes & std::filesystem::perms::others_read) != std::filesystem::perms::none;
}

} // namespace dlhost::env
