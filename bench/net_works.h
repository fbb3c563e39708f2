// The ops of the speed table's nets, layer by layer, as specs with open formats.
#pragma once

#include <string>
#include <vector>

#include <dlhost/ops.h>

namespace dlhost::bench {

struct Work {
  std::string layer;
  OpSpec feature;
  int times = 1;              // layers of this kind in the net
  bool input_gradient = true; // false for the first layer
  bool param_gradient = true;
};

struct NetWorks {
  std::string name;
  std::vector<Work> works;
  double params = 0;
};

// `dtype`: of features; param gradients are f32.
std::vector<NetWorks> net_works(DType dtype);

} // namespace dlhost::bench
