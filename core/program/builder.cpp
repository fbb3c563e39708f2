#include "program/builder.h"

#include <algorithm>

#include <fmt/format.h>

#include "program/builder_state.h"

namespace dlhost::program {

Result<std::unique_ptr<Program>> build(BuildRequest request) {
  auto program = std::make_unique<Program>();
  Builder builder(*program, request);
  DLHOST_TRY(builder.prepare_units());
  DLHOST_TRY(builder.expand());
  builder.lay_out();
  if (!request.make) return program;
  if (request.admit) DLHOST_TRY(request.admit(*program));
  DLHOST_TRY(builder.make_memory());
  DLHOST_TRY(builder.bind_params());
  return program;
}

} // namespace dlhost::program
