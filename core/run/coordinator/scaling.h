// Carries a request of `dlhost scale` to a running run, and the answer: two files in the run's folder, each of which is
// whole or absent. The leader looks for the request between two steps.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <dlhost/host.h>

namespace dlhost::run {

class Scaling {
 public:
  Scaling(Disk& disk, const std::string& run)
      : disk_(disk), wish_(run + "/scale.toml"), answer_(run + "/scaled.json") {}

  struct Answer {
    std::uint64_t step = 0; // at which the run continued
    std::string refused;    // why the run did not change; empty: it changed
  };

  // The requester's side. wish() requests the job with another arrangement and removes the last answer.
  Status wish(std::string_view job);
  Result<std::optional<Answer>> answer();
  void forget(); // if no leader is there to answer

  // The leader's side. tell() removes the request.
  bool is_wished() { return disk_.exists(wish_); }
  const std::string& job_file() const { return wish_; }
  Status tell(const Answer&);

 private:
  Disk& disk_;
  const std::string wish_, answer_;
};

} // namespace dlhost::run
