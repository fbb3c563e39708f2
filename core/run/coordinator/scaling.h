// What `dlhost scale` wants of a run that goes on, and what it hears: two files in the run's folder, each of which is
// there as a whole or not at all. The leader looks for the wish between two steps.
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
    std::uint64_t step = 0; // that it went on at
    std::string refused;    // why it goes on as it was; empty: it does not
  };

  // Who wishes: for the job, arranged otherwise. What was answered before is forgotten.
  Status wish(std::string_view job);
  Result<std::optional<Answer>> answer();
  void forget(); // nobody is there to answer

  // Who leads. The wish is gone once it is answered.
  bool is_wished() { return disk_.exists(wish_); }
  const std::string& job_file() const { return wish_; }
  Status tell(const Answer&);

 private:
  Disk& disk_;
  const std::string wish_, answer_;
};

} // namespace dlhost::run
