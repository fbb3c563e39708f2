// Which instruction sets the kernels are compiled for: included before Highway in every kernel file.
// Left out, for the sake of compile time, are those that give these loops nothing over a neighbour.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
