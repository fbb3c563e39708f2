#include "program/builder.h"

#include <algorithm>

#include <fmt/format.h>

#include "program/assembly.h"

namespace dlhost::program {

Result<std::unique_ptr<Program>> build(BuildRequest request) {
  auto program = std::make_unique<Program>();
  Builder builder(*program, request);
  DLHOST_TRY(builder.prepare_units());
  DLHOST_TRY(builder.expand());
  DLHOST_TRY(builder.lay_out());
  DLHOST_TRY(builder.bind_params());
  return program;
}

} // namespace dlhost::program
