// The processor's instruction sets: the one that this process uses, and the dtypes that it can multiply in.
//
// oneDNN and Highway choose their kernels at first use, for the whole process. Before that both can be limited to a
// lesser set than the processor's: to test other machines' kernels, or to get their bits.
// Thread: any. Owns: nothing.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include <dlhost/dtype.h>
#include <dlhost/status.h>

namespace dlhost::plugins::cpu {

// The values of the option `isa`: "best", then oneDNN's names from the least set on.
std::vector<std::pair<std::string, dnnl::cpu_isa>> instruction_sets();

// Limits both libraries to that set; isa_default: to the set in ONEDNN_MAX_CPU_ISA, else the processor's best. Errors:
// the processor lacks the set, or the process already uses another one.
Status hold_to(dnnl::cpu_isa);

// For people: "AVX-512 BF16".
std::string_view instruction_set();

// Whether oneDNN trains in this dtype: in bf16 from AVX-512 on (internally f32 without AVX-512 BF16), in f16 with
// AVX-512 FP16.
bool multiplies_in(DType);
// The least instruction set for this dtype, for people.
std::string_view set_that_multiplies_in(DType);

} // namespace dlhost::plugins::cpu
