// A loop over elements. Included once for each instruction set.
#if defined(DLHOST_VECTORS_EACH) == defined(HWY_TARGET_TOGGLE)
#ifdef DLHOST_VECTORS_EACH
#undef DLHOST_VECTORS_EACH
#else
#define DLHOST_VECTORS_EACH
#endif

#include <cstddef>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace dlhost::plugins::vectors {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls one(tag of f32, first element): whole vectors first, then the rest one by one, with the same code.
template <class One> HWY_INLINE void each(std::size_t count, One&& one) {
  const hn::ScalableTag<float> many;
  const hn::CappedTag<float, 1> single;
  const std::size_t lanes = hn::Lanes(many);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) one(many, i);
  for (; i < count; ++i) one(single, i);
}

} // namespace HWY_NAMESPACE
} // namespace dlhost::plugins::vectors
HWY_AFTER_NAMESPACE();

#endif
