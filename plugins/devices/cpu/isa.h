// The instruction sets of the processor: which one this process computes with, and what it can multiply in.
//
// oneDNN and Highway choose their kernels when they are first used, for the whole process. Until then both can be held
// to a lesser set than the processor has: to test on one machine what others run, or to get their bits.
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

// What the option `isa` takes: "best", and then oneDNN's names from the least set on.
std::vector<std::pair<std::string, dnnl::cpu_isa>> instruction_sets();

// Holds both libraries to that set; isa_default: to the one that ONEDNN_MAX_CPU_ISA names, or else the processor's
// best. Errors: the processor lacks the set; the process computes with another one already.
Status hold_to(dnnl::cpu_isa);

// For people: "AVX-512 BF16".
std::string_view instruction_set();

// Whether oneDNN trains in it: in bf16 from AVX-512 on (in f32 inside, without AVX-512 BF16), in f16 with AVX-512 FP16.
bool multiplies_in(DType);
// The least set that does, for people.
std::string_view set_that_multiplies_in(DType);

} // namespace dlhost::plugins::cpu
