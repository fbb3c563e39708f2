// Vector versions of the functions in expressions, accurate to a few units in the last place of f32, correct at the
// ends of their range and for NaN. Included once for each instruction set.
#if defined(DLHOST_MAP_FUNCTIONS) == defined(HWY_TARGET_TOGGLE)
#ifdef DLHOST_MAP_FUNCTIONS
#undef DLHOST_MAP_FUNCTIONS
#else
#define DLHOST_MAP_FUNCTIONS
#endif

#include <cmath>
#include <limits>

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace dlhost::plugins::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 1 / sqrt(x) for positive normal numbers: the CPU's approximation with two Newton steps is faster than a root and a
// division.
template <class D, class V> HWY_INLINE V ReciprocalRoot(D d, V x) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Div(hn::Set(d, 1.0F), hn::Sqrt(x));
#else
  auto guess = hn::ApproximateReciprocalSqrt(x);
  const auto half = hn::Mul(x, hn::Set(d, 0.5F));
  for (int i = 0; i < 2; ++i) guess = hn::Mul(guess, hn::NegMulAdd(hn::Mul(half, guess), guess, hn::Set(d, 1.5F)));
  return guess;
#endif
}

template <class D, class V> HWY_INLINE V MinusThreeQuarters(D d, V x) {
  const auto root = ReciprocalRoot(d, x);
  return hn::Mul(hn::Mul(root, root), ReciprocalRoot(d, root));
}

// x = n ln 2 + r: a polynomial in r, times 2^n in two halves, so that each half stays in range before the product.
template <class D, class V> HWY_INLINE V Exponential(D d, V x) {
  const hn::RebindToSigned<D> di;
  const auto inside = hn::Min(hn::Max(x, hn::Set(d, -104.0F)), hn::Set(d, 89.0F));
  const auto n = hn::Round(hn::Mul(inside, hn::Set(d, 1.44269504F)));
  auto r = hn::NegMulAdd(n, hn::Set(d, 0.693359375F), inside);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), r);
  auto p = hn::Set(d, 1.9875691500e-4F);
  p = hn::MulAdd(p, r, hn::Set(d, 1.3981999507e-3F));
  p = hn::MulAdd(p, r, hn::Set(d, 8.3334519073e-3F));
  p = hn::MulAdd(p, r, hn::Set(d, 4.1665795894e-2F));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6666665459e-1F));
  p = hn::MulAdd(p, r, hn::Set(d, 5.0000001201e-1F));
  p = hn::MulAdd(hn::Mul(p, r), r, hn::Add(r, hn::Set(d, 1.0F)));
  const auto whole = hn::ConvertTo(di, n);
  const auto half = hn::ShiftRight<1>(whole);
  const auto bias = hn::Set(di, 127);
  const auto low = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const auto high = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::Sub(whole, half), bias)));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Mul(hn::Mul(p, low), high));
}

// The logarithm of 0 is minus infinity, of negative numbers NaN.
template <class D, class V> HWY_INLINE V ends_of_logarithm(D d, V x, V value) {
  const auto infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  value = hn::IfThenElse(hn::Eq(x, infinity), infinity, value);
  value = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity), value);
  return hn::IfThenElse(hn::Or(hn::Lt(x, hn::Zero(d)), hn::IsNaN(x)), hn::NaN(d), value);
}

template <class D, class V> HWY_INLINE V Logarithm(D d, V x) { return ends_of_logarithm(d, x, hn::Log(d, x)); }

// log(u) x / (u - 1) with u = 1 + x rounded: the rounding error of u cancels.
template <class D, class V> HWY_INLINE V Logarithm1p(D d, V x) {
  const auto one = hn::Set(d, 1.0F);
  const auto u = hn::Add(one, x);
  const auto difference = hn::Sub(u, one);
  const auto tiny = hn::Eq(difference, hn::Zero(d));
  const auto corrected = hn::Mul(hn::Log(d, u), hn::Div(x, hn::IfThenElse(tiny, one, difference)));
  return hn::IfThenElse(tiny, x, ends_of_logarithm(d, u, corrected));
}

// 1 / (1 + e^-x)
template <class D, class V> HWY_INLINE V Logistic(D d, V x) {
  const auto one = hn::Set(d, 1.0F);
  return hn::Div(one, hn::Add(one, Exponential(d, hn::Neg(x))));
}

// An odd rational function on [-9, 9]; beyond that f32 has only 1 and -1.
template <class D, class V> HWY_INLINE V HyperbolicTangent(D d, V x) {
  const auto inside = hn::Min(hn::Max(x, hn::Set(d, -7.99881172180175781F)), hn::Set(d, 7.99881172180175781F));
  const auto s = hn::Mul(inside, inside);
  auto p = hn::Set(d, -2.76076847742355e-16F);
  p = hn::MulAdd(p, s, hn::Set(d, 2.00018790482477e-13F));
  p = hn::MulAdd(p, s, hn::Set(d, -8.60467152213735e-11F));
  p = hn::MulAdd(p, s, hn::Set(d, 5.12229709037114e-08F));
  p = hn::MulAdd(p, s, hn::Set(d, 1.48572235717979e-05F));
  p = hn::MulAdd(p, s, hn::Set(d, 6.37261928875436e-04F));
  p = hn::MulAdd(p, s, hn::Set(d, 4.89352455891786e-03F));
  auto q = hn::Set(d, 1.19825839466702e-06F);
  q = hn::MulAdd(q, s, hn::Set(d, 1.18534705686654e-04F));
  q = hn::MulAdd(q, s, hn::Set(d, 2.26843463243900e-03F));
  q = hn::MulAdd(q, s, hn::Set(d, 4.89352518554385e-03F));
  const auto small = hn::Lt(hn::Abs(x), hn::Set(d, 0.0004F));
  const auto one = hn::Set(d, 1.0F);
  const auto value =
      hn::IfThenElse(hn::Gt(hn::Abs(x), hn::Set(d, 9.0F)), hn::CopySign(one, x), hn::Div(hn::Mul(inside, p), q));
  return hn::IfThenElse(hn::Or(small, hn::IsNaN(x)), x, value);
}

template <class D, class V> HWY_INLINE V ErrorFunction(D d, V x) {
  const auto inside = hn::Min(hn::Max(x, hn::Set(d, -4.0F)), hn::Set(d, 4.0F));
  const auto s = hn::Mul(inside, inside);
  auto p = hn::Set(d, -2.72614225801306e-10F);
  p = hn::MulAdd(p, s, hn::Set(d, 2.77068142495902e-08F));
  p = hn::MulAdd(p, s, hn::Set(d, -2.10102402082508e-06F));
  p = hn::MulAdd(p, s, hn::Set(d, -5.69250639462346e-05F));
  p = hn::MulAdd(p, s, hn::Set(d, -7.34990630326855e-04F));
  p = hn::MulAdd(p, s, hn::Set(d, -2.95459980854025e-03F));
  p = hn::MulAdd(p, s, hn::Set(d, -1.60960333262415e-02F));
  auto q = hn::Set(d, -1.45660718464996e-05F);
  q = hn::MulAdd(q, s, hn::Set(d, -2.13374055278905e-04F));
  q = hn::MulAdd(q, s, hn::Set(d, -1.68282697438203e-03F));
  q = hn::MulAdd(q, s, hn::Set(d, -7.37332916720468e-03F));
  q = hn::MulAdd(q, s, hn::Set(d, -1.42647390514189e-02F));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Div(hn::Mul(inside, p), q));
}

} // namespace HWY_NAMESPACE
} // namespace dlhost::plugins::cpu
HWY_AFTER_NAMESPACE();

#endif
