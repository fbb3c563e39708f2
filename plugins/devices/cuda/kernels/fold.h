// Turns a convolution over few channels into one over more: the elements that a stride skips become channels. Tensor
// cores multiply blocks of channels, of which a picture's three fill a tenth. With stride s, x[n, c, ...] becomes [n, c
// s s, ...], a window of k becomes ceil(k / s), and the stride 1; padding is written as zeros. The sums are the same.
#pragma once

#include "geometry.h"
#include "number.h"
#include "work.h"

namespace dlhost::plugins::cuda {

struct Fold {
  std::int64_t channels = 1;
  std::int64_t big[3], pad[3], stride[3], window[3]; // before folding
  std::int64_t places[3], folded_window[3];          // of the folded x, and its window
  std::int64_t folded_channels = 1;                  // padded with zeros to 16 bytes

  // Requires: a geometry without dilation.
  Fold(const Geometry&, std::int64_t channels, DType);
  std::int64_t place_count() const { return places[0] * places[1] * places[2]; }
  std::int64_t window_size() const { return folded_window[0] * folded_window[1] * folded_window[2]; }
};

// The number of elements in 16 bytes.
std::int64_t channels_at_once(DType);

// `from` has the layout of the Lie; `to` has channels last.
void fold_input(WorkStream&, const Fold&, DType, std::int64_t samples, const void* from, const Lie&, void* to);
void fold_weights(WorkStream&, const Fold&, DType, std::int64_t filters, const void* from, const Lie&, void* to);
// Turns the gradient of folded weights into one of the weights, possibly of another dtype.
void unfold_weights(WorkStream&, const Fold&, std::int64_t filters, const Source& from, const Lie&, const Target& to);

} // namespace dlhost::plugins::cuda
