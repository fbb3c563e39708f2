// Whether the own kernels run on the current GPU. Returns a cudaError_t as an int: 0, or that there is no image for it.
#pragma once

namespace dlhost::plugins::cuda {

int find_image();

} // namespace dlhost::plugins::cuda
