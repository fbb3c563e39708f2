// Whether a device multiplies matrices of a dtype here: `cpu` computes in bf16 on processors with AVX-512.
#pragma once

#include <dlhost/device.h>

namespace dlhost::test {

inline bool computes(Device& device, DType dtype) {
  GemmSpec spec;
  spec.x = {dtype, {4, 8}, {}};
  spec.w = {dtype, {16, 8}, {}};
  spec.y = {dtype, {4, 16}, {}};
  return device.prepare(spec).ok();
}

} // namespace dlhost::test
