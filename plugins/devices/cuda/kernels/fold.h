// A convolution over few channels as one over more: what a stride steps over becomes channels. Tensor cores multiply
// blocks of channels, of which a picture's three fill a tenth. With stride s, x[n, c, ...] becomes [n, c s s, ...], a
// window of k one of ceil(k / s), and the stride 1; the padding becomes zeros that are written. The sums are the same.
#pragma once

#include "geometry.h"
#include "number.h"
#include "work.h"

namespace dlhost::plugins::cuda {

struct Fold {
  std::int64_t channels = 1;
  std::int64_t big[3], pad[3], stride[3], window[3]; // as they were
  std::int64_t places[3], folded_window[3];          // of the folded x, and of its window
  std::int64_t folded_channels = 1;                  // filled up with zeros to 16 bytes of them

  // Of a geometry without dilation.
  Fold(const Geometry&, std::int64_t channels, DType);
  std::int64_t place_count() const { return places[0] * places[1] * places[2]; }
  std::int64_t window_size() const { return folded_window[0] * folded_window[1] * folded_window[2]; }
};

// 16 bytes of elements.
std::int64_t channels_at_once(DType);

// `from` lies as it says; `to` has the channels last.
void fold_input(WorkStream&, const Fold&, DType, std::int64_t samples, const void* from, const Lie&, void* to);
void fold_weights(WorkStream&, const Fold&, DType, std::int64_t filters, const void* from, const Lie&, void* to);
// The gradient of folded weights as one of weights, which may have another type.
void unfold_weights(WorkStream&, const Fold&, std::int64_t filters, const Source& from, const Lie&, const Target& to);

} // namespace dlhost::plugins::cuda
