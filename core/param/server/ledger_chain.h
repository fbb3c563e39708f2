// Chains the lines of a ledger: each line ends with a digest of all bytes before it in the file. A line that is
// changed, removed, moved or doubled makes the next digest wrong. The chain cannot show that lines are missing at the
// end: checkpoints store the head of each file for that (record/ledger_head.h).
//
//   {"slice":0,"version":13,"made_of":"0+1*20","chain":"0f1e2d3c4b5a6978"}
//
// Thread: one at a time. Does not allocate if the lines have the capacity.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "env/digest.h"

namespace dlhost::param {

class LedgerChain {
 public:
  static constexpr std::size_t bytes = 29; // that close() adds to a line, with the line end

  // Adds the digest and the line end to a JSON object.
  void close(std::string& line);
  // Checks the next line of a file, given without its line end. False: the digest is missing or wrong.
  bool takes(std::string_view line);

  // The number of whole lines of a file, and the digest in the last of them. Does not check the digests.
  struct End {
    std::uint64_t lines = 0, digest = 0;
  };
  static std::optional<End> end_of(std::string_view file);

  std::uint64_t lines() const { return lines_; }
  std::uint64_t last() const { return last_; } // digest

 private:
  void advance(std::string_view body);

  env::RunningDigest digest_;
  std::uint64_t lines_ = 0, last_ = 0;
};

} // namespace dlhost::param
