// The rows of the batch that a program's layers compute. Layers that are cut alike have the same rows; a layer that is
// whole, beside some that are cut by rows, has them all. Thread: any.
#pragma once

#include <cstdint>
#include <vector>

#include "program/unit.h"

namespace dlhost::program {

class RowRanges {
 public:
  struct Range {
    std::int64_t first = 0, rows = 0; // in a frame; from the first row of any
    bool operator==(const Range&) const = default;
  };
  explicit RowRanges(const std::vector<Unit>&);

  const std::vector<Range>& all() const { return all_; }
  std::size_t of(std::size_t unit) const { return number_[unit]; } // among all
  std::int64_t first() const { return first_; }                    // of any, in the batch of a frame
  std::int64_t rows() const { return rows_; }                      // from the first row of any to the last

 private:
  std::vector<Range> all_;
  std::vector<std::size_t> number_;
  std::int64_t first_ = 0, rows_ = 0;
};

} // namespace dlhost::program
