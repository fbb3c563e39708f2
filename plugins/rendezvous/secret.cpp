#include "secret.h"

#include <sodium.h>

namespace dlhost::plugins::rendezvous {

JobSecret drawn_secret() {
  JobSecret made{};
  if (sodium_init() >= 0) randombytes_buf(made.data(), made.size());
  return made;
}

const JobSecret& secret_of_process() {
  static const JobSecret secret = drawn_secret();
  return secret;
}

} // namespace dlhost::plugins::rendezvous
