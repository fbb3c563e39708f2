// The ops of the speed table's nets, layer by layer, as specs with open formats.
#pragma once

#include <string>
#include <vector>

#include <dlhost/ops.h>

namespace dlhost::bench {

struct Work {
  std::string layer;
  OpSpec feature;
  int times = 1;              // how often the net has it
  bool input_gradient = true; // the first layer's is never made
  bool param_gradient = true;
};

struct NetWorks {
  std::string name;
  std::vector<Work> works;
  double params = 0;
};

// `dtype` is what features are in; param gradients are f32.
std::vector<NetWorks> net_works(DType dtype);

} // namespace dlhost::bench
