// Epilogues as oneDNN's post-ops, for preparing linear ops.
#pragma once

#include <string>

#include <oneapi/dnnl/dnnl.hpp>

#include <dlhost/ops.h>

namespace dlhost::plugins::cpu {

// Sums in place: the caller of the op starts the result from the addend. Returns the reason if the epilogue is refused;
// then `attributes` are unchanged. Empty: accepted.
std::string add_epilogue(const Epilogue&, dnnl::primitive_attr& attributes);
// For ops that accept none.
void refuse_epilogue(const Epilogue&, Op&);

} // namespace dlhost::plugins::cpu
