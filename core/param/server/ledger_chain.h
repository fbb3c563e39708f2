// What makes a ledger's lines a chain: each ends with a digest of all that stands before it in the file, so that no
// line can be changed, removed, moved or doubled without the next one saying so. The chain cannot tell that lines are
// missing at the file's end: checkpoints hold each file's head for that (record/ledger_head.h).
//
//   {"slice":0,"version":13,"made_of":"0+1*20","chain":"0f1e2d3c4b5a6978"}
//
// Thread: one at a time. Allocates nothing where lines have room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "env/digest.h"

namespace dlhost::param {

class LedgerChain {
 public:
  static constexpr std::size_t bytes = 29; // of what a line gets, its end included

  // A JSON object gets its digest, and the line's end.
  void close(std::string& line);
  // The next line of a file, without its end. Not so: it has no digest, or another than is due.
  bool takes(std::string_view line);

  // Of a whole file, which is not looked through: how many lines it has, a torn one aside, and the digest that the last
  // of them says.
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
