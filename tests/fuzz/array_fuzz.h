// Reads an array's rows, for the fuzz targets of array files.
#pragma once

#include <vector>

#include "array_file.h"

namespace dlhost::fuzz {

inline void read_rows(const Result<input::ArrayFile>& array) {
  if (!array.ok() || !array->fits()) return;
  std::vector<std::byte> row(array->row_elements() * size_of(array->natural()));
  std::vector<float> scaled(array->row_elements());
  for (std::int64_t i = 0; i < array->rows(); ++i) {
    array->copy_row(i, row.data());
    array->copy_row(i, scaled.data(), {1, 2});
  }
}

} // namespace dlhost::fuzz
