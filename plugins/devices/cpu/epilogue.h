// Epilogues as oneDNN's post-ops. Used by the linear ops while they are prepared.
#pragma once

#include <string>

#include <oneapi/dnnl/dnnl.hpp>

#include <dlhost/ops.h>

namespace dlhost::plugins::cpu {

// The sum is made in place: who runs the op starts the result from the addend. Returns why the epilogue is not taken,
// or nothing; then `attributes` are as they were.
std::string add_epilogue(const Epilogue&, dnnl::primitive_attr& attributes);
// For ops that take none.
void refuse_epilogue(const Epilogue&, Op&);

} // namespace dlhost::plugins::cpu
