// Selects the instruction sets that kernels are compiled for; included before Highway in every kernel file.
// Sets without a gain for these loops over a neighbouring set are left out, for compile time.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
